//! Swapped push constants.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use dml::core::kernel::KernelModule;
use dml::core::plan::{Dispatch, InPlace, Plan, Step};
use dml::core::{Capabilities, Error, Validated, validate};
use dml_conformance::cases::{Case, Kind};
use dml_conformance::execute::{Details, Lowering, run};
use dml_conformance::results::ResultCode;
use dml_ops::{Target, TransferUse};

use crate::interpreter;

/// Two words of the push constants of some kernels, by their position.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Swap {
    /// The names of the kernels' push constant fields, which identify the kernels.
    fields: String,
    words: [usize; 2],
}

/// The names of a kernel's push constants.
fn fields(kernel: &KernelModule) -> String {
    let names: Vec<&str> = kernel.push_fields.iter().map(|field| field.name).collect();
    names.join(" ")
}

impl Swap {
    /// Every swap that changes a dispatch, except for words that a binding table fills in: see
    /// [`Self::of_base_words`].
    fn all(dispatch: &Dispatch) -> Vec<Self> {
        let words = || (0..dispatch.push_constants.len() / 4).filter(|it| !is_base(dispatch, *it));
        let pairs = words().flat_map(|a| words().map(move |b| [a, b])).filter(|[a, b]| a < b);
        let differ = |pair: &[usize; 2]| word(dispatch, pair[0]) != word(dispatch, pair[1]);
        let fields = fields(&dispatch.kernel.variant);
        let of_values = pairs.filter(differ).map(|words| Self { fields: fields.clone(), words });
        of_values.chain(Self::of_base_words(dispatch)).collect()
    }

    /// Swaps of windows' base words; windows that begin at the same offset have equal ones.
    fn of_base_words(dispatch: &Dispatch) -> Vec<Self> {
        let base = |index: usize| dispatch.windows[index].base_word_at as usize / 4;
        let start = |at: usize| (dispatch.windows[at].slot, dispatch.windows[at].range.start);
        let places = (1..dispatch.windows.len()).filter(|at| start(0) != start(*at));
        let swap =
            |at| Self { fields: fields(&dispatch.kernel.variant), words: [base(0), base(at)] };
        places.map(swap).collect()
    }

    fn apply(&self, dispatch: &mut Dispatch) {
        if fields(&dispatch.kernel.variant) != self.fields {
            return;
        }
        let [a, b] = self.words;
        if is_base(dispatch, a) {
            for window in &mut dispatch.windows {
                let at = window.base_word_at as usize / 4;
                let to = if at == a {
                    b
                } else if at == b {
                    a
                } else {
                    at
                };
                window.base_word_at = u32::try_from(4 * to).unwrap();
            }
        } else {
            let [first, second] = self.words.map(|at| word(dispatch, at));
            dispatch.push_constants[4 * a..4 * a + 4].copy_from_slice(&second);
            dispatch.push_constants[4 * b..4 * b + 4].copy_from_slice(&first);
        }
    }
}

fn word(dispatch: &Dispatch, at: usize) -> [u8; 4] {
    dispatch.push_constants[4 * at..4 * at + 4].try_into().unwrap()
}

fn is_base(dispatch: &Dispatch, at: usize) -> bool {
    dispatch.windows.iter().any(|window| window.base_word_at as usize == 4 * at)
}

fn dispatches(plan: &mut Plan) -> impl Iterator<Item = &mut Dispatch> {
    let in_place = plan.in_place.iter_mut().flat_map(InPlace::own_steps_mut);
    plan.init.iter_mut().chain(&mut plan.exec).chain(in_place).filter_map(|step| match step {
        Step::Dispatch(dispatch) => Some(dispatch),
        _ => None,
    })
}

impl Lowering for Swap {
    fn lower(&self, operator: &Validated, target: &Target<'_>) -> Result<Plan, Error> {
        let mut plan = dml_ops::lower(operator, target)?;
        dispatches(&mut plan).for_each(|dispatch| self.apply(dispatch));
        Ok(plan)
    }
}

/// The swaps that change a case's plan.
fn swaps(case: &Case) -> Vec<Swap> {
    let operator = validate(&case.operator, case.level).unwrap();
    let capabilities = &Capabilities::vulkan_minimum();
    let target =
        Target { capabilities, tuning: Default::default(), transfer: TransferUse::Allowed };
    let mut plan = dml_ops::lower(&operator, &target).unwrap();
    dispatches(&mut plan).flat_map(|dispatch| Swap::all(dispatch)).collect()
}

/// The push constants of `fill_write`, which goes through the elements with coordinates that wrap around, and
/// writes the same value to each: its first index and, up to whole groups, its last make no difference.
const FILL: &str = "base_word constants_word first_group count start sizes value_low value_high";
/// `first_group` and `count`.
const HARMLESS: [usize; 2] = [2, 3];

#[test]
fn every_swapped_push_constant_is_found() {
    let mut cases = crate::THOROUGH.clone();
    cases.retain(|case| case.kind() == Kind::Outputs);
    let mut all = BTreeMap::<Swap, Vec<usize>>::new();
    for (index, case) in cases.iter().enumerate() {
        for swap in swaps(case) {
            let places = all.entry(swap).or_default();
            if places.last() != Some(&index) {
                places.push(index);
            }
        }
    }
    assert!(all.len() > 20, "{}", all.len());
    let is_missed = |(swap, places): &(&Swap, &Vec<usize>)| {
        let executor = interpreter(*swap);
        // A twin that cannot go on, because it would divide by zero, has found it as well.
        let passes = |at: &usize| {
            let result = || run(&cases[*at], &executor, Details::Failures).result;
            catch_unwind(AssertUnwindSafe(result)).is_ok_and(|it| it == ResultCode::Pass)
        };
        places.iter().all(passes)
    };
    let missed: Vec<&Swap> = all.iter().filter(is_missed).map(|(swap, _)| swap).collect();
    eprintln!("{} swaps of push constants", all.len());
    for swap in &missed {
        for at in &all[*swap] {
            eprintln!("MISSED {swap:?} {}", cases[*at].id);
        }
    }
    let harmless = Swap { fields: FILL.to_owned(), words: HARMLESS };
    assert_eq!(missed, [&harmless]);
}
