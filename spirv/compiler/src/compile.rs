//! GLSL to SPIR-V.

use std::cell::RefCell;
use std::collections::BTreeSet;

use anyhow::{Context, Result};
use dml_spirv_compiler::manifest::{Tree, lf, read_text};
use shaderc::{
    CompileOptions, Compiler, EnvVersion, OptimizationLevel, ResolvedInclude, ShaderKind,
    SpirvVersion, TargetEnv,
};

use crate::ENTRY_POINT;
use crate::intent::{Kind, VariantIntent};

/// The folder of the sources, in messages.
const KERNELS: &str = "spirv/kernels/";

/// The SPIR-V of one variant.
pub(crate) struct Compiled {
    /// The optimized SPIR-V.
    pub(crate) spirv: Vec<u8>,
    /// The SPIR-V without optimization, which removes names.
    pub(crate) named: Vec<u8>,
    /// The files in `kernels/` that it was made from.
    pub(crate) sources: BTreeSet<String>,
}

/// Compiles one variant. Warnings are errors; both are reported with file and line.
pub(crate) fn compile(tree: &Tree, variant: &VariantIntent<'_>) -> Result<Compiled> {
    let source = &variant.entry.source;
    let text = read_text(&tree.kernels().join(source))?;
    let sources = RefCell::new(BTreeSet::from([source.clone()]));
    let compiler = Compiler::new().context("could not start shaderc")?;
    let mut options = options(tree, variant, &sources)?;
    let name = shown(source);
    let mut text = lf(&text);
    if variant.entry.kind == Kind::Library {
        let preprocessed = compiler.preprocess(&text, &name, ENTRY_POINT, Some(&options))?;
        text += &calling_all(&preprocessed.as_text())?;
    }
    let kind = ShaderKind::Compute;
    let compiled = |options: &CompileOptions<'_>| -> Result<Vec<u8>> {
        let made = compiler.compile_into_spirv(&text, kind, &name, ENTRY_POINT, Some(options))?;
        Ok(made.as_binary_u8().to_vec())
    };
    let spirv = compiled(&options)?;
    options.set_optimization_level(OptimizationLevel::Zero);
    let named = compiled(&options)?;
    drop(options);
    Ok(Compiled { spirv, named, sources: sources.into_inner() })
}

fn options<'a>(
    tree: &'a Tree,
    variant: &VariantIntent<'_>,
    sources: &'a RefCell<BTreeSet<String>>,
) -> Result<CompileOptions<'a>> {
    let mut options = CompileOptions::new().context("could not start shaderc")?;
    options.set_target_env(TargetEnv::Vulkan, EnvVersion::Vulkan1_1 as u32);
    options.set_target_spirv(SpirvVersion::V1_3);
    options.set_optimization_level(match variant.entry.kind {
        Kind::Kernel => OptimizationLevel::Performance,
        // Functions must stay functions, and roundings must stay where they are.
        Kind::Skeleton | Kind::Library => OptimizationLevel::Zero,
    });
    options.set_warnings_as_errors();
    for (name, value) in &variant.defines {
        options.add_macro_definition(name, Some(value));
    }
    options.set_include_callback(|name, _, _, _| {
        let text = read_text(&tree.kernels().join(name)).map_err(|_| {
            format!("cannot include \"{name}\": there is no such file in {KERNELS}")
        })?;
        sources.borrow_mut().insert(name.to_owned());
        Ok(ResolvedInclude { resolved_name: shown(name), content: lf(&text) })
    });
    Ok(options)
}

fn shown(source: &str) -> String {
    format!("{KERNELS}{source}")
}

/// A `main` that calls every function of a library, because the compiler leaves out functions that are never
/// called. A function begins at the first column, and its parameters are numbers or vectors.
fn calling_all(preprocessed: &str) -> Result<String> {
    const TYPES: [&str; 8] = ["bool", "float", "int", "uint", "uvec2", "uvec4", "vec4", "void"];
    let mut calls = String::new();
    let mut rest = preprocessed;
    while !rest.is_empty() {
        let line = rest.split_inclusive('\n').next().unwrap_or(rest);
        let after = &rest[line.len()..];
        let function = line.split_once(' ').filter(|(kind, _)| TYPES.contains(kind));
        if let Some((name, _)) = function.and_then(|(_, signature)| signature.split_once('(')) {
            let (_, parameters) = rest.split_once('(').context("a function has parameters")?;
            let (parameters, _) = parameters.split_once(')').context("they end")?;
            let types = parameters.split(',').filter_map(|it| it.split_whitespace().rev().nth(1));
            let arguments: Vec<String> = types.map(|data_type| format!("{data_type}(0)")).collect();
            calls += &format!("    {name}({});\n", arguments.join(", "));
        }
        rest = after;
    }
    Ok(format!("\nvoid main() {{\n{calls}}}\n"))
}
