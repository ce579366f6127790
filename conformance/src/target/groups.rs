//! Profiles that come to the same, which need to run only once.

use crate::results::ProfileRun;

/// A profile and what it comes to somewhere.
pub(super) struct Effect<K> {
    /// `None` where it runs as it is.
    pub(super) profile: Option<ProfileRun>,
    pub(super) effective: K,
}

/// The first profile of each effect, with the names of the others that come to the same; in the
/// order in which the first ones came.
pub(super) fn distinct<K: PartialEq>(all: Vec<Effect<K>>) -> Vec<Effect<K>> {
    let mut groups: Vec<Effect<K>> = Vec::new();
    for effect in all {
        match groups.iter_mut().find(|group| group.effective == effect.effective) {
            Some(Effect { profile: Some(profile), .. }) => {
                profile.also.extend(effect.profile.map(|same| same.name));
            }
            _ => groups.push(effect),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use dml::core::Capabilities;
    use dml::profiles::{self, Profile};

    fn effects(key: impl Fn(&Profile) -> String) -> Vec<Effect<String>> {
        let effect = |profile: &Profile| Effect {
            profile: Some(super::super::profile_run(&profile.name, profile)),
            effective: key(profile),
        };
        profiles::all().unwrap().iter().map(effect).collect()
    }

    fn run(group: &Effect<String>) -> &ProfileRun {
        group.profile.as_ref().unwrap()
    }

    #[test]
    fn every_profile_is_in_exactly_one_group() {
        // On a device of Vulkan's minimum most profiles come to the same.
        let least = Capabilities::vulkan_minimum();
        let key = |profile: &Profile| {
            format!(
                "{:?} {}",
                profile.cap.apply(&least).capabilities,
                profile.cap.no_transfer_usage()
            )
        };
        let groups = distinct(effects(key));
        let mut names: Vec<String> = groups
            .iter()
            .map(run)
            .flat_map(|run| [vec![run.name.clone()], run.also.clone()].concat())
            .collect();
        names.sort();
        let mut all: Vec<&str> = profiles::names().collect();
        all.sort_unstable();
        assert_eq!(names, all);
        assert!(groups.len() < 10 && groups.len() > 3, "{}", groups.len());
        for group in &groups {
            for other in &run(group).also {
                assert_eq!(group.effective, key(&profiles::find(other).unwrap()), "{other}");
            }
        }
    }

    #[test]
    fn what_differs_stays_apart() {
        let groups = distinct(effects(|profile| profile.name.clone()));
        assert_eq!(groups.len(), profiles::names().count());
        assert!(groups.iter().all(|group| run(group).also.is_empty()));
    }
}
