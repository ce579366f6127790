//! Every case that is measured.

mod attention;
mod diagonal;
mod moves;
mod products;
mod recurrent;
mod rows;
mod sums;

use crate::case::Case;

/// Every case, in the order of the report. Those of one group take turns with each other.
pub(crate) fn all() -> Vec<Vec<Case>> {
    [
        diagonal::groups(),
        sums::groups(),
        moves::groups(),
        rows::groups(),
        products::groups(),
        attention::groups(),
        recurrent::groups(),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn what_a_case_is_compared_with_is_in_its_group() {
        for group in all() {
            for other in group.iter().flat_map(|case| &case.beside) {
                assert!(group.iter().any(|case| case.id == other.name), "{}", other.name);
            }
        }
    }

    #[test]
    fn of_a_group_one_case_has_peers_which_free_what_another_one_has() {
        for group in all() {
            let with_peers = group.iter().filter(|case| !case.peers.is_empty());
            assert!(with_peers.count() <= 1, "{}", group[0].id);
        }
    }

    #[test]
    fn every_case_has_its_own_name_and_the_bytes_in_it() {
        let cases = all().concat();
        let mut ids: Vec<_> = cases.iter().map(|case| &case.id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), cases.len());
        for case in &cases {
            let Some(mib) = case.id.split('/').find_map(|part| part.strip_suffix("MiB")) else {
                continue;
            };
            let mib: u64 = mib.parse().unwrap();
            assert!(case.work.bytes() >= mib * MIB, "{}", case.id);
            assert!(case.work.bytes() < mib * MIB + 64, "{}", case.id);
        }
    }
}
