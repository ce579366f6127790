//! Reports of format 1, which listed every case and had an answer for each level, type and rank.

use anyhow::{Context as _, anyhow};
use serde_json::{Value, json};

use crate::results::tally::Tally;
use crate::results::{Block, ResultCode, Run, Support, TargetRun};

pub(super) const FORMAT: u32 = 1;

/// Reads a run of this format.
pub(super) fn parse(text: &[u8]) -> anyhow::Result<Run> {
    let mut run: Value = serde_json::from_slice(text)?;
    run["format"] = json!(crate::results::FORMAT);
    let targets = run["targets"].as_array_mut().context("`targets` is no array")?;
    let answers = |target: &mut Value| target.as_object_mut()?.insert("support".into(), json!([]));
    let answers: Vec<Option<Value>> = targets.iter_mut().map(answers).collect();
    let mut run: Run = serde_json::from_value(run)?;
    for (target, answers) in run.targets.iter_mut().zip(answers) {
        target.support = support(answers.unwrap_or_default())?;
        count(target);
    }
    Ok(run)
}

/// The answers, which were one for each level, type and rank.
fn support(answers: Value) -> anyhow::Result<Vec<Support>> {
    let Value::Array(answers) = answers else { return Ok(vec![]) };
    let answer = |answer: &Value| {
        let text = |name: &str| answer[name].as_str().map(str::to_owned);
        let rank = usize::try_from(answer["rank"].as_u64()?).ok()?;
        let level = text("level")?;
        Some(Support {
            operator: text("operator")?,
            at: Block {
                levels: [level.clone(), level],
                data_types: vec![text("data_type")?],
                ranks: vec![rank],
            },
            answer: text("answer")?,
            text: text("text")?,
        })
    };
    let known = |value: &Value| answer(value).ok_or_else(|| anyhow!("`support`: {value}"));
    answers.iter().map(known).collect()
}

/// Counts what passed. Which cases were executed follows from their names there: what is refused or
/// wrongly bound is called so.
fn count(target: &mut TargetRun) {
    let mut tally = Tally::default();
    for mut case in std::mem::take(&mut target.cases) {
        let is_refusal =
            ["refused_", "rule_", "binding_"].iter().any(|it| case.id.name.starts_with(it));
        let has_ended = matches!(case.result, ResultCode::Pass | ResultCode::UnexpectedPass);
        case.executed = has_ended && !is_refusal;
        tally.add(case);
    }
    tally.finish(target);
}
