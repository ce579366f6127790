//! What a compiled kernel asks of its environment, read from its SPIR-V.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use dml_spirv_manifest::{Binding, ENTRY_POINT};
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Capability, Decoration, ExecutionMode, ExecutionModel, Op, StorageClass};

use crate::access::buffer_accesses;
use crate::instruction::{decoration, definition, id_operand, literal};
use crate::layout::size_of_block;

/// SPIR-V for Vulkan 1.1.
const VERSION: (u8, u8) = (1, 3);

/// The interface of a kernel.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reflection {
    /// The local size where no specialization constant changes it.
    pub(crate) local_size: [u32; 3],
    /// The storage buffers, by ascending binding.
    pub(crate) bindings: Vec<Binding>,
    /// The end of the push constant block, 0 without one.
    pub(crate) push_constant_bytes: u32,
    /// Id and default of each specialization constant, by ascending id.
    pub(crate) specialization: BTreeMap<u32, u32>,
    /// SPIR-V's names.
    pub(crate) capabilities: Vec<String>,
    /// Variants of `dml_core::kernel::Feature`.
    pub(crate) required_features: Vec<String>,
}

/// Reads the interface of the kernel in `spirv`.
pub(crate) fn reflect(spirv: &[u8]) -> Result<Reflection> {
    let module = match rspirv::dr::load_bytes(spirv) {
        Ok(module) => module,
        Err(state) => bail!("not SPIR-V: {state}"),
    };
    let version = module.header.as_ref().context("the module has no header")?.version();
    ensure!(version == VERSION, "SPIR-V {version:?} instead of {VERSION:?}");
    check_entry_point(&module)?;
    let (capabilities, required_features) = capabilities(&module)?;
    Ok(Reflection {
        local_size: local_size(&module)?,
        bindings: bindings(&module)?,
        push_constant_bytes: push_constant_bytes(&module)?,
        specialization: specialization(&module)?,
        capabilities,
        required_features,
    })
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

fn capabilities(module: &Module) -> Result<(Vec<String>, Vec<String>)> {
    let mut names = Vec::new();
    let mut features = Vec::new();
    for instruction in &module.capabilities {
        let Some(&Operand::Capability(capability)) = instruction.operands.first() else {
            bail!("an OpCapability without a capability");
        };
        names.push(format!("{capability:?}"));
        features.extend(required_feature(capability)?.map(str::to_owned));
    }
    names.sort();
    features.sort();
    Ok((names, features))
}

/// The variant of `dml_core::kernel::Feature` that a capability needs, if any.
fn required_feature(capability: Capability) -> Result<Option<&'static str>> {
    Ok(Some(match capability {
        Capability::Shader => return Ok(None),
        Capability::Int8 => "ShaderInt8",
        Capability::Int16 => "ShaderInt16",
        Capability::Int64 => "ShaderInt64",
        Capability::Float16 => "ShaderFloat16",
        Capability::Float64 => "ShaderFloat64",
        Capability::StorageBuffer8BitAccess => "StorageBuffer8BitAccess",
        Capability::StorageBuffer16BitAccess => "StorageBuffer16BitAccess",
        Capability::PhysicalStorageBufferAddresses => "BufferDeviceAddress",
        other => bail!(
            "it needs the capability {other:?}, and no dml_core::kernel::Feature stands for that"
        ),
    }))
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
        bindings.push(Binding { set, binding, access: access.name().to_owned() });
    }
    bindings.sort_by_key(|binding| binding.binding);
    let distinct = bindings.windows(2).all(|pair| pair[0].binding != pair[1].binding);
    ensure!(distinct, "two storage buffers have the same binding");
    Ok(bindings)
}

fn push_constant_bytes(module: &Module) -> Result<u32> {
    let blocks: Vec<&Instruction> = variables(module)
        .filter(|variable| storage_class(variable) == Some(StorageClass::PushConstant))
        .collect();
    match blocks.as_slice() {
        [] => Ok(0),
        [block] => size_of_block(module, block),
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

fn local_size(module: &Module) -> Result<[u32; 3]> {
    let built_in = module.annotations.iter().find(|annotation| {
        annotation.operands.get(1) == Some(&Operand::Decoration(Decoration::BuiltIn))
            && annotation.operands.get(2)
                == Some(&Operand::BuiltIn(rspirv::spirv::BuiltIn::WorkgroupSize))
    });
    let values: Option<Vec<u32>> = match built_in {
        Some(annotation) => constituents(module, annotation),
        None => module
            .execution_modes
            .iter()
            .find(|mode| {
                mode.operands.get(1) == Some(&Operand::ExecutionMode(ExecutionMode::LocalSize))
            })
            .and_then(|mode| (2..5).map(|index| literal(mode, index)).collect()),
    };
    values
        .and_then(|values| values.try_into().ok())
        .context("the local size is not three constants")
}

/// The values of the composite constant that `annotation` decorates.
fn constituents(module: &Module, annotation: &Instruction) -> Option<Vec<u32>> {
    let composite = definition(module, id_operand(annotation, 0)?)?;
    composite
        .operands
        .iter()
        .map(|operand| literal(definition(module, operand.id_ref_any()?)?, 0))
        .collect()
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
