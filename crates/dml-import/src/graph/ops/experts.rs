//! Mixtures of experts: networks of one shape, of which each token uses the few with the highest scores.
//!
//! The experts that a token uses are data, so a plan either reads the weights of the chosen experts by a gather,
//! once for each token and choice, or computes every expert for every token. Both are one formula with other
//! dimensions: `[groups, experts, tokens, elements]`, where a group is a token with its chosen experts, or all
//! tokens with all experts.

use crate::error::Result;
use crate::graph::ops::index::gathered;
use crate::graph::ops::{NodeInputs, Op};
use crate::graph::value::Value;

/// A gathered weight is read, written and read again, where computing every expert reads each weight once.
const GATHER_COST: u64 = 3;

/// The experts that are computed for the tokens.
enum Computed {
    /// The chosen ones of each token.
    Chosen { tokens: u64, choices: u64 },
    /// Every expert, for all tokens.
    Every { tokens: u64, experts: u64 },
}

impl Computed {
    /// Decides by the indices of chosen experts `[tokens, choices]` and a tensor `[tokens, experts]`.
    fn of(operands: &NodeInputs<'_>, chosen: &Value, scores: &Value) -> Result<Self> {
        let given = scores.shape()?;
        let [tokens, experts] = *given else {
            let (path, problem) = ("router_probs", "has the wrong number of dimensions");
            return Err(operands.node.invalid(path, given.len(), problem, "2"));
        };
        let choices = chosen.shape()?.last().copied().unwrap_or_default();
        let gathered = tokens.saturating_mul(choices).saturating_mul(GATHER_COST);
        Ok(match gathered {
            1.. if gathered <= experts => Self::Chosen { tokens, choices },
            _ => Self::Every { tokens, experts },
        })
    }
}

/// The weights of the experts that are computed, `[groups, experts, ..]`.
///
/// Inputs are the weights of all experts, `[experts, ..]`, the chosen experts `[tokens, choices]`, and the
/// router's scores `[tokens, experts]`.
#[derive(Debug)]
pub(crate) struct ExpertWeights;

impl Op for ExpertWeights {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let weights = operands.value(0, "weights")?;
        let (chosen, scores) = (operands.value(1, "chosen")?, operands.value(2, "router_probs")?);
        let (given, experts) = (weights.shape()?, scores.shape()?.last());
        if given.first() != experts {
            let problem = "is the wrong number of experts";
            let found = given.first().copied().unwrap_or_default();
            let accepted = format!("{}, as in router_probs", experts.copied().unwrap_or_default());
            return Err(operands.node.invalid("experts_weights", found, problem, accepted));
        }
        Ok(vec![match Computed::of(operands, chosen, scores)? {
            Computed::Chosen { .. } => gathered(operands, weights, chosen, 0)?,
            Computed::Every { .. } => operands.reshaped(weights, &[&[1], given].concat())?,
        }])
    }
}

/// The factors of the experts' results, `[groups, experts, tokens, 1]`.
///
/// Inputs are the factors of the chosen experts and the chosen experts, `[tokens, choices]`, and the factors of
/// all experts, `[tokens, experts]`: 0 for those that are not chosen.
#[derive(Debug)]
pub(crate) struct ExpertFactors;

impl Op for ExpertFactors {
    fn evaluate(&self, operands: &NodeInputs<'_>) -> Result<Vec<Value>> {
        let [few, chosen, all] = [(0, "factors"), (1, "chosen"), (2, "router_probs")]
            .map(|(index, name)| operands.value(index, name));
        let (few, chosen, all) = (few?, chosen?, all?);
        let factors = match Computed::of(operands, chosen, all)? {
            Computed::Chosen { tokens, choices } => {
                operands.reshaped(few, &[tokens, choices, 1, 1])
            }
            Computed::Every { tokens, experts } => {
                operands.reshaped(&all.transposed(&[1, 0]), &[1, experts, tokens, 1])
            }
        };
        factors.map(|factors| vec![factors])
    }
}
