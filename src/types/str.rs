//! [`Str`].

/// Stub.
#[derive(Clone, Debug, Default)]
pub struct Str(Vec<u8>);

impl Str {
    /// Stub.
    pub fn new(s: &[u8]) -> Self {
        Self(s.to_vec())
    }

    /// Stub.
    pub fn to_bytes(&self) -> crate::Bytes {
        crate::Bytes::copy_from(&self.0)
    }

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
