//! Scripts: EVAL and its kin, and SCRIPT. The engine runs them, since they need its interpreter;
//! here are their rows.

use super::args::help;
use super::{Acl, Arg, Cx, Flags, KeyFlags, KeySpec, Reply, Run, ScriptOp, Spec};

/// The rows of this family.
pub const ROWS: &[&Spec] = &[&EVAL, &EVALSHA, &EVALSHA_RO, &EVAL_RO, &SCRIPT];

/// A script or its hash, its keys, its arguments.
const CALL: &[Arg] = &[Arg::Str, Arg::NumKeys, Arg::Opt(&[Arg::Many(&[Arg::Str])])];
const COST: &str = "Depends on the script that is executed.";
const FLAGS: Flags =
    Flags::NOSCRIPT.or(Flags::STALE).or(Flags::SKIP_MONITOR).or(Flags::NO_MANDATORY_KEYS);
const RW: KeyFlags = KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE);
const RO: KeyFlags = KeyFlags::RO.or(KeyFlags::ACCESS);

/// `EVAL script numkeys [key …] [arg …]`
pub const EVAL: Spec = Spec::new("EVAL", Run::Script(ScriptOp::Eval), FLAGS, CALL)
    .arity_as(-3)
    .keys(&[KeySpec::counted(2, RW)
        .notes("We cannot tell how the keys will be used so we assume the worst, RW and UPDATE")])
    .acl(Acl::SCRIPTING)
    .doc("scripting", "2.6.0", COST, "Execute a Lua script server side");

/// `EVALSHA sha1 numkeys [key …] [arg …]`
pub const EVALSHA: Spec = Spec::new("EVALSHA", Run::Script(ScriptOp::Evalsha), FLAGS, CALL)
    .arity_as(-3)
    .keys(&[KeySpec::counted(2, RW)])
    .acl(Acl::SCRIPTING)
    .doc("scripting", "2.6.0", COST, "Execute a Lua script server side");

/// `EVALSHA_RO sha1 numkeys [key …] [arg …]`
pub const EVALSHA_RO: Spec =
    Spec::new("EVALSHA_RO", Run::Script(ScriptOp::Evalsha), FLAGS.or(Flags::READONLY), CALL)
        .arity_as(-3)
        .keys(&[KeySpec::counted(2, RO)])
        .acl(Acl::SCRIPTING)
        .doc("scripting", "7.0.0", COST, "Execute a read-only Lua script server side");

/// `EVAL_RO script numkeys [key …] [arg …]`
pub const EVAL_RO: Spec =
    Spec::new("EVAL_RO", Run::Script(ScriptOp::Eval), FLAGS.or(Flags::READONLY), CALL)
        .arity_as(-3)
        .keys(&[KeySpec::counted(2, RO).notes(
            "We cannot tell how the keys will be used so we assume the worst, RO and ACCESS",
        )])
        .acl(Acl::SCRIPTING)
        .doc("scripting", "7.0.0", COST, "Execute a read-only Lua script server side");

/// `SCRIPT`
pub const SCRIPT: Spec = Spec::container(
    "SCRIPT",
    &[&SCRIPT_DEBUG, &SCRIPT_EXISTS, &SCRIPT_FLUSH, &SCRIPT_HELP, &SCRIPT_KILL, &SCRIPT_LOAD],
)
.doc(
    "scripting",
    "2.6.0",
    "Depends on subcommand.",
    "A container for Lua scripts management commands",
);

/// `SCRIPT DEBUG YES | SYNC | NO`
pub const SCRIPT_DEBUG: Spec = Spec::new(
    "SCRIPT|DEBUG",
    Run::Script(ScriptOp::Debug),
    Flags::NOSCRIPT,
    &[Arg::One(&[Arg::Tok("YES"), Arg::Tok("SYNC"), Arg::Tok("NO")])],
)
.acl(Acl::SCRIPTING)
.doc("scripting", "3.2.0", "O(1)", "Set the debug mode for executed scripts.");

/// `SCRIPT EXISTS sha1 …`
pub const SCRIPT_EXISTS: Spec = Spec::new(
    "SCRIPT|EXISTS",
    Run::Script(ScriptOp::Exists),
    Flags::NOSCRIPT,
    &[Arg::Many(&[Arg::Str])],
)
.acl(Acl::SCRIPTING)
.tips(&["request_policy:all_shards", "response_policy:agg_logical_and"])
.doc(
    "scripting",
    "2.6.0",
    "O(N) with N being the number of scripts to check (so checking a single script is an O(1) \
     operation).",
    "Check existence of scripts in the script cache.",
);

/// `SCRIPT FLUSH [ASYNC | SYNC]`
pub const SCRIPT_FLUSH: Spec = Spec::new(
    "SCRIPT|FLUSH",
    Run::Script(ScriptOp::Flush),
    Flags::NOSCRIPT,
    &[Arg::Opt(&[Arg::One(&[Arg::Tok("ASYNC"), Arg::Tok("SYNC")])])],
)
.acl(Acl::SCRIPTING)
.tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
.doc(
    "scripting",
    "2.6.0",
    "O(N) with N being the number of scripts in cache",
    "Remove all the scripts from the script cache.",
);

/// `SCRIPT HELP`
pub const SCRIPT_HELP: Spec =
    Spec::new("SCRIPT|HELP", Run::Plain(script_help), Flags::LOADING.or(Flags::STALE), &[])
        .acl(Acl::SCRIPTING)
        .doc("scripting", "5.0.0", "O(1)", "Show helpful text about the different subcommands");

/// `SCRIPT KILL`
pub const SCRIPT_KILL: Spec = Spec::new(
    "SCRIPT|KILL",
    Run::Script(ScriptOp::Kill),
    Flags::NOSCRIPT.or(Flags::ALLOW_BUSY),
    &[],
)
.acl(Acl::SCRIPTING)
.tips(&["request_policy:all_shards", "response_policy:one_succeeded"])
.doc("scripting", "2.6.0", "O(1)", "Kill the script currently in execution.");

/// `SCRIPT LOAD script`
pub const SCRIPT_LOAD: Spec = Spec::new(
    "SCRIPT|LOAD",
    Run::Script(ScriptOp::Load),
    Flags::NOSCRIPT.or(Flags::STALE),
    &[Arg::Str],
)
.acl(Acl::SCRIPTING)
.tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
.doc(
    "scripting",
    "2.6.0",
    "O(N) with N being the length in bytes of the script body.",
    "Load the specified Lua script into the script cache.",
);

fn script_help(_: &mut Cx<'_>, _: &[&[u8]]) -> Reply {
    help(
        "SCRIPT",
        &[
            "DEBUG (YES|SYNC|NO)",
            "    Set the debug mode for subsequent scripts executed.",
            "EXISTS <sha1> [<sha1> ...]",
            "    Return information about the existence of the scripts in the script cache.",
            "FLUSH [ASYNC|SYNC]",
            "    Flush the Lua scripts cache. Very dangerous on replicas.",
            "    When called without the optional mode argument, the behavior is determined by the",
            "    lazyfree-lazy-user-flush configuration directive. Valid modes are:",
            "    * ASYNC: Asynchronously flush the scripts cache.",
            "    * SYNC: Synchronously flush the scripts cache.",
            "KILL",
            "    Kill the currently executing Lua script.",
            "LOAD <script>",
            "    Load a script into the scripts cache without executing it.",
        ],
    )
}
