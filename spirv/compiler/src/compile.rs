//! GLSL to SPIR-V.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use dml_spirv_manifest::{ENTRY_POINT, Tree, VariantIntent, includes_of, lf};
use shaderc::{
    CompileOptions, Compiler, EnvVersion, OptimizationLevel, ResolvedInclude, ShaderKind,
    SpirvVersion, TargetEnv,
};

/// Where sources lie, in messages.
const KERNELS: &str = "spirv/kernels/";

/// Compiles one variant. Warnings are errors; either are reported with file and line.
pub(crate) fn compile(tree: &Tree, variant: &VariantIntent<'_>) -> Result<Vec<u8>> {
    let source = &variant.entry.source;
    let path = tree.kernels().join(source);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("could not read {}", path.display()))?;
    let includes = includes_of(&tree.kernels(), source)?;

    let compiler = Compiler::new().context("could not start shaderc")?;
    let options = options(variant, &includes)?;
    let name = shown(source);
    let result = compiler.compile_into_spirv(
        &lf(&text),
        ShaderKind::Compute,
        &name,
        ENTRY_POINT,
        Some(&options),
    )?;
    Ok(result.as_binary_u8().to_vec())
}

/// What `dml_spirv_manifest::{TARGET, OPTIMIZATION}` say.
fn options<'a>(
    variant: &VariantIntent<'_>,
    includes: &'a BTreeMap<String, String>,
) -> Result<CompileOptions<'a>> {
    let mut options = CompileOptions::new().context("could not start shaderc")?;
    options.set_target_env(TargetEnv::Vulkan, EnvVersion::Vulkan1_1 as u32);
    options.set_target_spirv(SpirvVersion::V1_3);
    options.set_optimization_level(OptimizationLevel::Performance);
    options.set_warnings_as_errors();
    for (name, value) in &variant.defines {
        options.add_macro_definition(name, Some(value));
    }
    // Only files that are recorded as inputs can be included.
    options.set_include_callback(|name, _, _, _| match includes.get(name) {
        Some(content) => {
            Ok(ResolvedInclude { resolved_name: shown(name), content: content.clone() })
        }
        None => Err(format!("\"{name}\" is not in {KERNELS}")),
    });
    Ok(options)
}

fn shown(source: &str) -> String {
    format!("{KERNELS}{source}")
}
