//! Checks for attributes that only later versions of an operator have.

use super::{ALL, OperatorVersion};
use crate::error::{NodeName, Result};
use crate::onnx::attributes::listed;
use crate::onnx::proto::NodeProto;

impl OperatorVersion {
    /// Refuses attributes that only a later version of the operator has.
    pub(in crate::onnx) fn check_versions(&self, name: &NodeName, proto: &NodeProto) -> Result<()> {
        let has = |row: &OperatorVersion, attribute: &str| {
            row.attributes.iter().any(|it| it.0 == attribute)
        };
        let is_later = |row: &&OperatorVersion| {
            row.domain == self.domain && row.name == self.name && row.since > self.since
        };
        for attribute in proto.attribute.iter().filter(|it| !has(self, &it.name)) {
            let later = ALL.into_iter().flatten().filter(is_later);
            let later = later.filter(|row| has(row, &attribute.name)).map(|row| row.since);
            if let Some(since) = later.min() {
                let problem =
                    format!("is not an attribute of {} before ai.onnx {since}", self.name);
                let accepted = listed(self.attributes);
                return Err(name.invalid("attributes", &attribute.name, problem, accepted));
            }
        }
        Ok(())
    }
}
