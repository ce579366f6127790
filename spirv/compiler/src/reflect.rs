//! The interface and the requirements of a compiled kernel, read from its SPIR-V.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use rspirv::binary::Assemble as _;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Decoration, ExecutionModel, Op, StorageClass};

use crate::ENTRY_POINT;
use crate::access::buffer_accesses;
use crate::instruction::{decoration, literal};
use crate::layout::{Field, fields_of_block, have_same_places};

/// SPIR-V for Vulkan 1.1.
const VERSION: (u8, u8) = (1, 3);

/// A storage buffer of set 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    /// The binding number.
    pub(crate) binding: u32,
    /// The kernel's access to the buffer: the name of a variant of `dml_core::plan::Access`.
    pub(crate) access: String,
}

/// A specialization constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Specialization {
    /// `constant_id`.
    pub(crate) id: u32,
    /// The name that `kernels.toml` gives it.
    pub(crate) name: String,
    /// The value if none is specialized.
    pub(crate) default: u32,
}

/// The interface of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reflection {
    /// The storage buffers, by ascending binding.
    pub(crate) bindings: Vec<Binding>,
    /// The members of the push constant block, by ascending offset.
    pub(crate) push_fields: Vec<Field>,
    /// The binding of a skeleton's uniform block.
    pub(crate) uniform_binding: Option<u32>,
    /// The specialization constants, by ascending id.
    pub(crate) specialization: Vec<Specialization>,
    /// Variants of `dml_core::kernel::Feature`.
    pub(crate) required_features: Vec<String>,
}

/// Reads the interface of the kernel in `spirv`; `named` is the unoptimized module, which has the source's names.
///
/// # Errors
/// A pipeline layout of this project cannot express the interface, or the specialization constants of the
/// module are not those in `names`, which are from `kernels.toml`.
pub(crate) fn reflect(
    spirv: &[u8],
    named: &[u8],
    names: &BTreeMap<String, u32>,
) -> Result<Reflection> {
    let module = checked(spirv)?;
    let push_fields = push_fields(&checked(named)?)?;
    ensure!(
        have_same_places(&push_fields, &self::push_fields(&module)?),
        "the optimized kernel has not all of its push constants"
    );
    Ok(Reflection {
        bindings: bindings(&module)?,
        push_fields,
        uniform_binding: None,
        specialization: self::named(names, &specialization(&module)?)?,
        required_features: required_features(&module)?,
    })
}

/// Reads the interface that all kernels linked from the skeleton in `spirv` share. Their bindings and required
/// features are known when they are linked.
///
/// # Errors
/// As [`reflect`].
pub(crate) fn reflect_skeleton(spirv: &[u8], names: &BTreeMap<String, u32>) -> Result<Reflection> {
    let module = checked(spirv)?;
    let mut blocks = Vec::new();
    for variable in variables(&module).filter(|it| storage_class(it) == Some(StorageClass::Uniform))
    {
        let id = variable.result_id.context("a variable without a result")?;
        blocks.push(decoration(&module, id, Decoration::Binding).context("no binding")?);
    }
    ensure!(blocks.len() <= 1, "more than one uniform block");
    Ok(Reflection {
        push_fields: push_fields(&module)?,
        uniform_binding: blocks.first().copied(),
        specialization: named(names, &specialization(&module)?)?,
        ..Reflection::default()
    })
}

fn checked(spirv: &[u8]) -> Result<Module> {
    let module = match rspirv::dr::load_bytes(spirv) {
        Ok(module) => module,
        Err(state) => bail!("not SPIR-V: {state}"),
    };
    let version = module.header.as_ref().context("the module has no header")?.version();
    ensure!(version == VERSION, "SPIR-V {version:?} instead of {VERSION:?}");
    check_entry_point(&module)?;
    Ok(module)
}

fn check_entry_point(module: &Module) -> Result<()> {
    let [entry] = module.entry_points.as_slice() else {
        bail!("{} entry points instead of one", module.entry_points.len());
    };
    let is_compute = entry.operands.first()
        == Some(&Operand::ExecutionModel(ExecutionModel::GLCompute))
        && entry.operands.get(2) == Some(&Operand::LiteralString(ENTRY_POINT.to_owned()));
    ensure!(is_compute, "the entry point is not the compute shader `{ENTRY_POINT}`");
    Ok(())
}

fn required_features(module: &Module) -> Result<Vec<String>> {
    let features = dml_core::capabilities::required_features(&module.assemble())?;
    Ok(features.iter().map(|feature| format!("{feature:?}")).collect())
}

fn bindings(module: &Module) -> Result<Vec<Binding>> {
    let accesses = buffer_accesses(module)?;
    let mut bindings = Vec::new();
    for variable in variables(module) {
        match storage_class(variable) {
            Some(StorageClass::StorageBuffer) => {}
            Some(StorageClass::Uniform | StorageClass::UniformConstant) => {
                bail!("it binds something other than a storage buffer");
            }
            _ => continue,
        }
        let id = variable.result_id.context("a variable without a result")?;
        let set = decoration(module, id, Decoration::DescriptorSet).context("no set")?;
        let binding = decoration(module, id, Decoration::Binding).context("no binding")?;
        ensure!(set == 0, "a storage buffer of descriptor set {set}; only set 0 is bound");
        let access = accesses
            .get(&id)
            .with_context(|| format!("binding {binding} is declared but never touched"))?;
        bindings.push(Binding { binding, access: access.name().to_owned() });
    }
    bindings.sort_by_key(|binding| binding.binding);
    let distinct = bindings.windows(2).all(|pair| pair[0].binding != pair[1].binding);
    ensure!(distinct, "two storage buffers have the same binding");
    Ok(bindings)
}

fn push_fields(module: &Module) -> Result<Vec<Field>> {
    let blocks: Vec<&Instruction> = variables(module)
        .filter(|variable| storage_class(variable) == Some(StorageClass::PushConstant))
        .collect();
    match blocks.as_slice() {
        [] => Ok(Vec::new()),
        [block] => fields_of_block(module, block),
        _ => bail!("more than one push constant block"),
    }
}

fn specialization(module: &Module) -> Result<BTreeMap<u32, u32>> {
    let mut found = BTreeMap::new();
    for constant in &module.types_global_values {
        let default = match constant.class.opcode {
            Op::SpecConstantTrue => 1,
            Op::SpecConstantFalse => 0,
            Op::SpecConstant => literal(constant, 0).context("a constant without a value")?,
            _ => continue,
        };
        let result = constant.result_id.context("a constant without a result")?;
        let id = decoration(module, result, Decoration::SpecId)
            .context("a specialization constant without a constant_id")?;
        ensure!(found.insert(id, default).is_none(), "constant_id {id} is used twice");
    }
    Ok(found)
}

/// The specialization constants with their names. Both must have the same ids.
fn named(names: &BTreeMap<String, u32>, found: &BTreeMap<u32, u32>) -> Result<Vec<Specialization>> {
    let names: BTreeMap<u32, &String> = names.iter().map(|(name, id)| (*id, name)).collect();
    ensure!(
        names.keys().eq(found.keys()),
        "kernels.toml names the specialization constants {:?}, the SPIR-V has {:?}",
        names.keys(),
        found.keys()
    );
    let constants = names.into_iter().zip(found.values());
    let constant = |((id, name), default): ((u32, &String), &u32)| Specialization {
        id,
        name: name.clone(),
        default: *default,
    };
    Ok(constants.map(constant).collect())
}

fn variables(module: &Module) -> impl Iterator<Item = &Instruction> {
    module.types_global_values.iter().filter(|value| value.class.opcode == Op::Variable)
}

fn storage_class(variable: &Instruction) -> Option<StorageClass> {
    match variable.operands.first() {
        Some(&Operand::StorageClass(class)) => Some(class),
        _ => None,
    }
}
