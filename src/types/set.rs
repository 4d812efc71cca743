//! [`Set`].

/// Stub.
#[derive(Clone, Debug, Default)]
pub struct Set(Vec<u8>);

impl Set {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Name of the form in use, as `OBJECT ENCODING` answers.
    pub fn encoding(&self) -> &'static str {
        ""
    }
}
