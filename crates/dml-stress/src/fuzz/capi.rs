//! `capi`: DirectML's structs as a C program fills them, in half of all runs with damage, read by the C
//! library.

use dml::FeatureLevel;
use dml::core::validate;
use dml_ops::reference::Random;
use dmlvk::fuzzing::{RoundTrip, through_c};

use crate::plans::hostile;

/// What keeps structs without damage from being read: more dimensions than there are.
const REASON: &str = "DimensionCount";

pub(super) fn run(bytes: &[u8]) -> bool {
    let mut random = Random::from_bytes(bytes);
    let damage = random.one_in(2);
    let schema = if random.one_in(4) {
        random.pick(dml::core::operators::OPERATORS)
    } else {
        random.pick(&dml_ops::OPERATORS).schema()
    };
    let Some(operator) = hostile::operator(schema, &mut random) else { return true };
    let RoundTrip { written, read, is_damaged } =
        through_c(&operator, damage, &mut |end| random.below(end));
    match read {
        Ok(read) => {
            // As text, since a NaN differs from itself.
            let text = [&written, &read].map(|it| format!("{it:?}"));
            assert!(is_damaged || text[0] == text[1], "{}\nhas become\n{}", text[0], text[1]);
            let _ = validate(&read, FeatureLevel::HIGHEST);
        }
        Err(message) => {
            assert!(is_damaged || message.contains(REASON), "refused {written:?}: {message}");
            assert!(!message.contains('\n') && !message.contains("internal error"), "{message}");
        }
    }
    true
}
