//! Attention by the documentation: each query by itself, in double precision.

use dml_core::operators::attention::{LENGTHS, Role, Sizes};
use dml_core::schema::{Comparison, FieldKind, OperatorSchema};
use dml_core::{DataType, Error, MultiheadAttentionMaskType as MaskType, TensorLayout, Validated};

use super::cases::CaseGenerator;
use crate::number::{double, encoded, single};
use crate::{Random, Reference};

/// The reference of an attention operator.
pub(super) struct Attention {
    pub(super) schema: &'static OperatorSchema,
}

/// The elements of the inputs in row-major order.
struct Inputs<'a> {
    operator: &'a Validated,
    sizes: Sizes,
    elements: Vec<(&'static str, &'a TensorLayout, Vec<f64>)>,
}

/// A dimension's size, and a coordinate in it.
type At = (u32, usize);

impl Inputs<'_> {
    fn get(&self, name: &str) -> Option<(&[u32], &[f64])> {
        let found = self.elements.iter().find(|(it, ..)| *it == name);
        found.map(|(_, tensor, elements)| (tensor.sizes(), elements.as_slice()))
    }

    /// An element of a tensor of these sizes; `None` if the tensor is left out.
    fn at<const N: usize>(&self, name: &str, places: [At; N]) -> Option<f64> {
        let place = places.iter().fold(0, |place, (size, at)| place * *size as usize + at);
        self.get(name).map(|(_, elements)| elements[place])
    }

    /// An element of a tensor that may be broadcast along any dimension.
    fn repeated(&self, name: &str, places: [usize; 4]) -> Option<f64> {
        let (sizes, _) = self.get(name)?;
        let sizes = &sizes[sizes.len() - 4..];
        let at = |at: usize| (sizes[at], if sizes[at] == 1 { 0 } else { places[at] });
        self.at(name, std::array::from_fn::<_, 4, _>(at))
    }

    /// A new query, key or value element, with its bias.
    fn fresh(&self, role: Role, [batch, head, step, element]: [usize; 4]) -> Result<f64, Error> {
        let [heads, steps, _, elements] = self.sizes.of_role(role);
        let (name, place, tensor) = role.tensor(self.operator)?;
        let stacked = place.map_or((1, 0), |place| (tensor.sizes()[3], place as usize));
        let outer = [(self.sizes.batches, batch), (steps, step), (heads, head)];
        let [a, b, c] = outer;
        let value = self.at(name, [a, b, c, stacked, (elements, element)]).unwrap_or(f64::NAN);
        let first = self.sizes.first_bias(role) as usize;
        let in_bias = first + head * elements as usize + element;
        Ok(value + self.at("BiasTensor", [(0, in_bias)]).unwrap_or(0.0))
    }

    /// A key or value element, where past steps come first.
    fn any(&self, role: Role, [batch, head, step, element]: [usize; 4]) -> Result<f64, Error> {
        let [heads, _, past, elements] = self.sizes.of_role(role);
        match step.checked_sub(past as usize) {
            Some(step) => self.fresh(role, [batch, head, step, element]),
            None => {
                let [a, b] = [(self.sizes.batches, batch), (heads, head)];
                let places = [a, b, (past, step), (elements, element)];
                Ok(self.at(role.past().unwrap_or(""), places).unwrap_or(f64::NAN))
            }
        }
    }

    fn length(&self, batch: usize) -> Option<f64> {
        self.at(LENGTHS, [(0, batch)])
    }

    /// Whether a query may attend to a key.
    fn sees(&self, batch: usize, query: usize, key: usize) -> bool {
        let Some(length) = self.length(batch) else { return true };
        match key.checked_sub(self.sizes.past as usize) {
            Some(new) => new <= query,
            None => (key as f64) < length,
        }
    }

    fn is_masked(&self, [batch, head, query, key]: [usize; 4]) -> bool {
        let bound = |place: At| self.at("MaskTensor", [place, (self.sizes.batches, batch)]);
        let number = key as f64;
        match self.sizes.mask {
            MaskType::None => false,
            MaskType::Boolean => {
                self.repeated("MaskTensor", [batch, head, query, key]) == Some(0.0)
            }
            MaskType::KeySequenceEndStart => {
                bound((2, 0)).is_some_and(|end| number >= end)
                    || bound((2, 1)).is_some_and(|start| number < start)
            }
            _ => bound((1, 0)).is_some_and(|length| number >= length),
        }
    }

    fn score(&self, [batch, head, query, key]: [usize; 4]) -> Result<f64, Error> {
        let group = head / (self.sizes.heads / self.sizes.groups) as usize;
        let mut sum = 0.0;
        for element in 0..self.sizes.elements as usize {
            sum += self.fresh(Role::Query, [batch, head, query, element])?
                * self.any(Role::Key, [batch, group, key, element])?;
        }
        let mut score = sum * f64::from(self.operator.float("Scale")?);
        let place = [batch, head, query, key];
        score += self.repeated("RelativePositionBiasTensor", place).unwrap_or(0.0);
        if self.is_masked(place) {
            // Large negative masks make scores lose their last digits.
            score = single(score + f64::from(self.operator.float("MaskFilterValue")?));
        }
        Ok(if self.sees(batch, query, key) { score } else { f64::NEG_INFINITY })
    }

    /// The weighted values for a query of a head.
    fn found(&self, [batch, head, query]: [usize; 3]) -> Result<Vec<f64>, Error> {
        let group = head / (self.sizes.heads / self.sizes.groups) as usize;
        let keys = 0..self.sizes.keys() as usize;
        let scores = keys.map(|key| self.score([batch, head, query, key]));
        let scores = scores.collect::<Result<Vec<f64>, Error>>()?;
        let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut sum = 0.0;
        let mut found = vec![0.0; self.sizes.of_value as usize];
        for (key, score) in scores.iter().enumerate().filter(|(_, it)| **it != f64::NEG_INFINITY) {
            let power = (score - greatest).exp();
            sum += power;
            for (element, found) in found.iter_mut().enumerate() {
                *found += power * self.any(Role::Value, [batch, group, key, element])?;
            }
        }
        Ok(found.into_iter().map(|it| it / sum).collect())
    }

    /// The output, by batches, queries, heads and elements.
    fn output(&self) -> Result<Vec<f64>, Error> {
        let [batches, queries, heads] =
            [self.sizes.batches, self.sizes.queries, self.sizes.heads].map(|it| it as usize);
        let mut all = vec![];
        for number in 0..batches * queries * heads {
            let (batch, rest) = (number / (queries * heads), number % (queries * heads));
            all.extend(self.found([batch, rest % heads, rest / heads])?);
        }
        Ok(all)
    }

    /// Past and new keys or values, by batches, heads, steps and elements.
    fn present(&self, role: Role, sizes: &[u32]) -> Result<Vec<f64>, Error> {
        let [.., heads, steps, elements] = sizes else { return Ok(vec![]) };
        let [heads, steps, elements] = [*heads, *steps, *elements].map(|it| it as usize);
        let [_, new, past, _] = self.sizes.of_role(role).map(|it| it as usize);
        let mut all = vec![];
        for number in 0..self.sizes.batches as usize * heads * steps * elements {
            let (head, rest) = (number / (steps * elements), number % (steps * elements));
            let (step, element) = (rest / elements, rest % elements);
            let place = [head / heads, head % heads];
            let first = self.length(place[0]).unwrap_or(past as f64);
            let is_here = |it: &usize| first + *it as f64 == step as f64;
            all.push(if let Some(of_new) = (0..new).find(is_here) {
                self.fresh(role, [place[0], place[1], of_new, element])?
            } else if step < past {
                self.any(role, [place[0], place[1], step, element])?
            } else {
                0.0
            });
        }
        Ok(all)
    }
}

impl Reference for Attention {
    fn schema(&self) -> &'static OperatorSchema {
        self.schema
    }

    fn outputs(
        &self,
        operator: &Validated,
        elements: &[Option<Vec<u64>>],
    ) -> Result<Vec<Vec<u64>>, Error> {
        let tensors = operator.tensors(FieldKind::Input).zip(elements);
        let decoded = tensors.filter_map(|((path, tensor), bits)| {
            let (tensor, bits) = (tensor?, bits.as_ref()?);
            let elements = bits.iter().map(|it| double(tensor.data_type(), *it));
            Some((path.field.name, tensor, elements.collect()))
        });
        let inputs = Inputs { operator, sizes: Sizes::of(operator)?, elements: decoded.collect() };
        let of_output = |name: &str, tensor: &TensorLayout| match name {
            "OutputPresentKeyTensor" => inputs.present(Role::Key, tensor.sizes()),
            "OutputPresentValueTensor" => inputs.present(Role::Value, tensor.sizes()),
            _ => inputs.output(),
        };
        let outputs = operator.tensors(FieldKind::Output).map(|(path, tensor)| {
            let Some(tensor) = tensor else { return Ok(vec![]) };
            let values = of_output(path.field.name, tensor)?;
            Ok(values.into_iter().map(|value| encoded(tensor.data_type(), value)).collect())
        });
        outputs.collect()
    }

    /// Values with few digits, so that scores are exact, and positive ones, so that nothing cancels. Past keys
    /// and values beyond their lengths are NaN.
    fn input_elements(
        &self,
        random: &mut Random,
        operator: &Validated,
        index: usize,
        layout: &TensorLayout,
    ) -> Vec<u64> {
        let name =
            operator.tensors(FieldKind::Input).nth(index).map_or("", |(it, _)| it.field.name);
        let sizes = Sizes::of(operator);
        let [keys, past] = sizes.map_or([1, 0], |it| [it.keys(), it.past]);
        let is_counted = operator.schema().has_field(LENGTHS)
            && operator.tensor(LENGTHS).is_ok_and(|it| it.is_some());
        let unused = if is_counted && past > 2 { past - 1 } else { past };
        let rank = layout.sizes().len();
        let element = |at: u64| match (layout.data_type(), name) {
            (DataType::Int32, LENGTHS) => {
                u64::from(random.below(if unused < past { past } else { past + 2 }))
            }
            (DataType::Int32, _) => u64::from(random.below(keys + 2).min(random.below(keys + 2))),
            (data_type, "PastKeyTensor" | "PastValueTensor")
                if at / u64::from(layout.sizes()[rank - 1]) % u64::from(past.max(1))
                    >= u64::from(unused) =>
            {
                encoded(data_type, f64::NAN)
            }
            (data_type, name) => {
                let share = f64::from(1 + random.below(63)) / 64.0;
                let is_signed = ["QueryTensor", "KeyTensor", "RelativePositionBiasTensor"];
                let sign = if is_signed.contains(&name) && random.one_in(2) { -1.0 } else { 1.0 };
                encoded(data_type, sign * share)
            }
        };
        (0..layout.element_count()).map(element).collect()
    }

    /// Each key adds the error of a product and of an exponential.
    fn comparison(&self, operator: &Validated, data_type: DataType) -> Comparison {
        let own = operator.schema().comparison(data_type);
        let (Comparison::Ulp(bound), Ok(sizes)) = (own, Sizes::of(operator)) else { return own };
        let of_keys = match data_type {
            DataType::Float32 => sizes.keys().saturating_add(4),
            _ => 0,
        };
        Comparison::Ulp(bound.saturating_add(of_keys))
    }

    cases_by!(self, signature: CaseGenerator { schema: self.schema, signature });
}
