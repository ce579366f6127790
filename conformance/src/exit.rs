//! How the command ends.

use crate::child::Refusal;
use crate::results::{Counts, ResultCode};

/// Something was not as expected.
pub(crate) const FAILED: u8 = 1;
/// The command was not understood.
pub(crate) const WRONG_USAGE: u8 = 2;
/// There is no device to run on.
pub(crate) const NO_DEVICE: u8 = 3;

/// Nothing failed, but a limit of the device refused cases, or none could run; or of an operator that had
/// to be executed no case was.
pub(crate) const INCOMPLETE: u8 = 4;

/// The exit code for what cases came to. What an expectation excuses is as expected; what a limit of the
/// device refuses only where that is allowed, and never where nothing of an operator is left.
pub(crate) fn of(total: Counts, allow_unsupported: bool) -> u8 {
    let unsupported = total.of(ResultCode::Unsupported);
    let as_expected = total.of(ResultCode::Pass) + total.of(ResultCode::ExpectedFail);
    if total.failures() > 0 {
        FAILED
    } else if total.missing() > 0 {
        INCOMPLETE
    } else if allow_unsupported && as_expected + unsupported > 0
        || unsupported == 0 && as_expected > 0
    {
        0
    } else {
        INCOMPLETE
    }
}

/// The command line asks for something that cannot be done.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// The exit code for an error that ended the command.
pub(crate) fn code(error: &anyhow::Error) -> u8 {
    if let Some(error) = error.downcast_ref::<Refusal>() {
        return error.code;
    }
    if error.is::<Usage>() || error.is::<dml::profiles::Error>() {
        return WRONG_USAGE;
    }
    let vulkan = match error.downcast_ref::<dml::Error>() {
        Some(dml::Error::Profile(_)) => return WRONG_USAGE,
        Some(dml::Error::Vulkan(error)) => Some(error),
        _ => error.downcast_ref::<dml::vk::Error>(),
    };
    match vulkan {
        Some(dml::vk::Error::NoLoader { .. } | dml::vk::Error::NoDevice { .. }) => NO_DEVICE,
        Some(dml::vk::Error::InvalidArgument { .. } | dml::vk::Error::DeviceSelection { .. }) => {
            WRONG_USAGE
        }
        _ => FAILED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Execution;
    use ResultCode::{Crash, ExpectedFail, Fail, NotRun, Pass, UnexpectedPass, Unsupported};

    #[test]
    fn an_operator_of_which_nothing_was_executed_is_never_as_expected() {
        let mut total = Counts::default();
        total.add(Pass, Execution::Dispatched);
        total.add(Unsupported, Execution::NotExecuted);
        assert_eq!([false, true].map(|allow| of(total, allow)), [INCOMPLETE, 0]);
        total.required_and_not_executed(1);
        assert_eq!([false, true].map(|allow| of(total, allow)), [INCOMPLETE; 2]);
    }

    #[test]
    fn only_what_was_shown_or_excused_ends_with_0() {
        let code = |results: &[ResultCode], allow| {
            let mut total = Counts::default();
            results.iter().for_each(|result| total.add(*result, Execution::HostMade));
            of(total, allow)
        };
        for as_expected in [&[Pass][..], &[Pass, ExpectedFail], &[ExpectedFail], &[Pass, NotRun]] {
            assert_eq!([false, true].map(|allow| code(as_expected, allow)), [0, 0]);
        }
        for refused in [&[Pass, Unsupported][..], &[Unsupported, NotRun]] {
            assert_eq!([false, true].map(|allow| code(refused, allow)), [INCOMPLETE, 0]);
        }
        assert_eq!([false, true].map(|allow| code(&[NotRun], allow)), [INCOMPLETE; 2]);
        for failure in [Fail, Crash, UnexpectedPass] {
            let found = [false, true].map(|allow| code(&[Pass, Unsupported, failure], allow));
            assert_eq!(found, [FAILED; 2], "{failure:?}");
        }
    }
}
