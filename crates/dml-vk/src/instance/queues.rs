//! Which family of queues a device uses.

use ash::vk;

/// Which family of queues a device of this crate's uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueChoice {
    /// The first family that computes and does not draw, if there is such: a desktop's own work does not wait
    /// there. Otherwise the first one that computes.
    #[default]
    ComputeOnly,
    /// The first family that computes: on most GPUs the one that draws as well.
    First,
    /// The family with this number.
    Family(u32),
}

/// The family of `families` to use.
pub(crate) fn choose(
    families: &[vk::QueueFamilyProperties],
    choice: QueueChoice,
) -> Result<u32, String> {
    let find = |is_right: &dyn Fn(&vk::QueueFamilyProperties) -> bool| {
        families.iter().position(|family| computes(family) && is_right(family))
    };
    let draws =
        |family: &vk::QueueFamilyProperties| family.queue_flags.contains(vk::QueueFlags::GRAPHICS);
    let found = match choice {
        QueueChoice::Family(family) => return of_caller(families, family),
        QueueChoice::First => find(&|_| true),
        QueueChoice::ComputeOnly => find(&|it| !draws(it)).or_else(|| find(&|_| true)),
    };
    let found = found.and_then(|index| u32::try_from(index).ok());
    found.ok_or_else(|| "it has no compute queue".to_owned())
}

/// The family with this number, if it computes.
pub(crate) fn of_caller(
    families: &[vk::QueueFamilyProperties],
    family: u32,
) -> Result<u32, String> {
    let index = usize::try_from(family).unwrap_or(usize::MAX);
    match families.get(index) {
        Some(properties) if computes(properties) => Ok(family),
        Some(_) => Err(format!("its queue family {family} does not compute")),
        None => Err(format!("it has no queue family {family}")),
    }
}

fn computes(family: &vk::QueueFamilyProperties) -> bool {
    family.queue_flags.contains(vk::QueueFlags::COMPUTE) && family.queue_count > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(flags: vk::QueueFlags) -> vk::QueueFamilyProperties {
        vk::QueueFamilyProperties { queue_flags: flags, queue_count: 1, ..Default::default() }
    }

    const DRAWS: vk::QueueFlags =
        vk::QueueFlags::from_raw(vk::QueueFlags::GRAPHICS.as_raw() | COMPUTES.as_raw());
    const COMPUTES: vk::QueueFlags = vk::QueueFlags::COMPUTE;

    #[test]
    fn a_family_that_only_computes_is_preferred() {
        let families =
            [vk::QueueFlags::TRANSFER, DRAWS, vk::QueueFlags::TRANSFER, COMPUTES, COMPUTES];
        let families = families.map(family);
        assert_eq!(choose(&families, QueueChoice::ComputeOnly), Ok(3));
        assert_eq!(choose(&families, QueueChoice::First), Ok(1));
        assert_eq!(choose(&families, QueueChoice::Family(4)), Ok(4));
        // Without one, and where it has no queue.
        assert_eq!(choose(&families[..3], QueueChoice::ComputeOnly), Ok(1));
        let none = vk::QueueFamilyProperties { queue_count: 0, ..family(COMPUTES) };
        assert_eq!(choose(&[none, family(DRAWS)], QueueChoice::ComputeOnly), Ok(1));
    }

    #[test]
    fn a_family_that_does_not_compute_is_refused() {
        let families = [vk::QueueFlags::TRANSFER].map(family);
        let refused = |choice| choose(&families, choice).unwrap_err();
        assert_eq!(refused(QueueChoice::ComputeOnly), "it has no compute queue");
        assert_eq!(refused(QueueChoice::First), "it has no compute queue");
        assert_eq!(refused(QueueChoice::Family(0)), "its queue family 0 does not compute");
        assert_eq!(refused(QueueChoice::Family(1)), "it has no queue family 1");
    }
}
