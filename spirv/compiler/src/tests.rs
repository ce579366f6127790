use std::fs;
use std::path::Path;

use std::collections::BTreeMap;

use dml_core::capabilities::Feature;
use dml_spirv_compiler::manifest::Tree;
use tempfile::TempDir;

use crate::compile::{Compiled, compile};
use crate::generate::{differences, generate, write};
use crate::intent::Intent;
use crate::layout::Field;
use crate::reflect::{Binding, Reflection, Specialization, reflect, reflect_skeleton};

const HEAD: &str = "#version 450\n#extension GL_GOOGLE_include_directive : require\n";
const LOCAL: &str = "layout(local_size_x = 8, local_size_y = 4) in;\n";
const DATA: &str = "layout(set = 0, binding = 0, std430) readonly buffer Source { uint source[]; };\n\
     layout(set = 0, binding = 1, std430) buffer Target { uint target[]; };\n";

/// A tree with one kernel for 32 bits.
fn tree(body: &str) -> (TempDir, Tree) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("spirv");
    fs::create_dir_all(root.join("kernels")).unwrap();
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("kernels/test.comp"), body).unwrap();
    let intent =
        "[test]\nsummary = \"Tests.\"\nsource = \"test.comp\"\nelement_widths = [\"b32\"]\n";
    fs::write(root.join("kernels.toml"), intent).unwrap();
    let lock = "[[package]]\nname = \"shaderc\"\nversion = \"1.2.3\"\n";
    fs::write(folder.path().join("Cargo.lock"), lock).unwrap();
    let tree = Tree::of_workspace(folder.path());
    (folder, tree)
}

fn compiled(body: &str) -> anyhow::Result<Compiled> {
    let (_folder, tree) = tree(body);
    let intent = Intent::read(&tree.intent()).unwrap();
    let variant = intent.variants().next().unwrap();
    compile(&tree, &variant)
}

fn reflected(declarations: &str, main: &str) -> anyhow::Result<Reflection> {
    let names = [("FLAG", 1), ("LOCAL", 3), ("N", 7)].map(|(name, id)| (name.to_owned(), id));
    let is_specialized = declarations.contains("constant_id");
    let names = BTreeMap::from(names).into_iter().filter(|_| is_specialized).collect();
    let Compiled { spirv, named, .. } =
        compiled(&format!("{HEAD}{declarations}void main() {{ {main} }}\n"))?;
    reflect(&spirv, &named, &names)
}

#[track_caller]
fn assert_refused<T>(result: anyhow::Result<T>, expected: &str) {
    let message = format!("{:#}", result.err().unwrap());
    assert!(message.contains(expected), "{message}");
}

#[test]
fn accesses_and_sizes_are_read_from_the_instructions() {
    let push = "struct Inner { uint d; uvec2 e; };\n\
                layout(push_constant) uniform P { uint a; uvec3 b; uint c[3]; Inner f; } push;\n";
    let reflection = reflected(
        &format!("{LOCAL}{DATA}{push}"),
        "target[push.a] = source[push.b.x] + push.c[push.a] + push.f.e.y;",
    )
    .unwrap();
    let binding = |binding, access: &str| Binding { binding, access: access.to_owned() };
    assert_eq!(reflection.bindings, [binding(0, "Read"), binding(1, "Write")]);
    let field =
        |name: &str, offset, size, members| Field { name: name.to_owned(), offset, size, members };
    let inner = vec![field("d", 0, 4, vec![]), field("e", 8, 8, vec![])];
    let expected = [
        field("a", 0, 4, vec![]),
        field("b", 16, 12, vec![]),
        field("c", 28, 12, vec![]),
        field("f", 40, 16, inner),
    ];
    assert_eq!(reflection.push_fields, expected);
    assert!(reflection.specialization.is_empty() && reflection.required_features.is_empty());

    let reflection =
        reflected(&format!("{LOCAL}{DATA}"), "atomicAdd(target[0], source[1]);").unwrap();
    assert_eq!(reflection.bindings[1].access, "ReadWrite");
    assert_eq!(reflection.push_fields, []);
}

#[test]
fn what_kernels_of_a_skeleton_have_in_common_is_read_whatever_they_bind() {
    let block = "layout(set = 0, binding = 5, std140) uniform Record { uvec4 sizes; } record;\n";
    let push = "layout(push_constant) uniform P { uint base_words[5]; uint count; } push;\n";
    let constant = "layout(constant_id = 7) const uint N = 5;\n";
    let body = format!(
        "{HEAD}{LOCAL}{DATA}{block}{push}{constant}void main() {{ target[push.count] = \
         record.sizes.x + source[push.base_words[N]]; }}\n"
    );
    let Compiled { named, .. } = compiled(&body).unwrap();
    let names = BTreeMap::from([("N".to_owned(), 7)]);
    let found = reflect_skeleton(&named, &names).unwrap();
    assert_eq!((found.uniform_binding, found.bindings.len()), (Some(5), 0));
    let fields: Vec<_> = found
        .push_fields
        .iter()
        .map(|push_field| (push_field.name.as_str(), push_field.offset, push_field.size))
        .collect();
    assert_eq!(fields, [("base_words", 0, 20), ("count", 20, 4)]);
    assert_eq!((found.specialization[0].id, found.specialization[0].default), (7, 5));
    assert_refused(reflect_skeleton(&named, &BTreeMap::new()), "kernels.toml names");
}

#[test]
fn specialization_constants_are_read_with_their_defaults() {
    let constants = "layout(local_size_x = 32, local_size_x_id = 3) in;\n\
                     layout(constant_id = 7) const uint N = 5;\n\
                     layout(constant_id = 1) const bool FLAG = true;\n";
    let main = "target[0] = FLAG ? N * gl_WorkGroupSize.x : source[0];";
    let reflection = reflected(&format!("{constants}{DATA}"), main).unwrap();
    let named = |(id, name, default): (u32, &str, u32)| Specialization {
        id,
        name: name.to_owned(),
        default,
    };
    assert_eq!(
        reflection.specialization,
        [(1, "FLAG", 1), (3, "LOCAL", 32), (7, "N", 5)].map(named)
    );
}

#[test]
fn capabilities_become_features_or_are_refused() {
    let int64 = "#extension GL_ARB_gpu_shader_int64 : require\n";
    let main = "target[0] = uint(uint64_t(source[0]) * uint64_t(source[1]) >> 32);";
    let reflection = reflected(&format!("{int64}{LOCAL}{DATA}"), main).unwrap();
    assert_eq!(reflection.required_features, ["ShaderInt64"]);

    let group = "#extension GL_KHR_shader_subgroup_arithmetic : require\n";
    let main = "target[0] = subgroupAdd(source[gl_LocalInvocationIndex]);";
    let reflection = reflected(&format!("{group}{LOCAL}{DATA}"), main).unwrap();
    assert_eq!(reflection.required_features, ["SubgroupArithmetic"]);

    let group = "#extension GL_KHR_shader_subgroup_clustered : require\n";
    let main = "target[0] = subgroupClusteredAdd(source[gl_LocalInvocationIndex], 4);";
    let result = reflected(&format!("{group}{LOCAL}{DATA}"), main);
    assert_refused(result, "no feature of dml-core's table allows that");
}

#[test]
fn capabilities_of_the_table_are_those_of_spirv() {
    for feature in Feature::ALL {
        let Some(capability) = feature.capability() else { continue };
        let found = rspirv::spirv::Capability::from_u32(capability.code).unwrap();
        assert_eq!(format!("{found:?}"), capability.name, "{feature}");
    }
}

#[test]
fn what_a_descriptor_set_layout_cannot_express_is_refused() {
    let other_set = "layout(set = 1, binding = 0, std430) buffer B { uint data[]; };\n";
    assert_refused(reflected(&format!("{LOCAL}{other_set}"), "data[0] = 1;"), "only set 0");
    let uniform = "layout(set = 0, binding = 2, std140) uniform U { uint value; };\n";
    let result = reflected(&format!("{LOCAL}{DATA}{uniform}"), "target[0] = source[0] + value;");
    assert_refused(result, "other than a storage buffer");
}

#[test]
fn mistakes_in_glsl_are_reported_with_file_and_line() {
    let result = compiled(&format!("{HEAD}{LOCAL}void main() {{\n    nowhere = 1;\n}}\n"));
    assert_refused(result, "spirv/kernels/test.comp:5: error: 'nowhere'");
    let result = compiled(&format!("{HEAD}#include \"missing.glsl\"\n"));
    assert_refused(result, "test.comp:3: error: '#include' : cannot include \"missing.glsl\"");
}

#[test]
fn warnings_are_errors() {
    // An extension that is unknown, but only asked to warn.
    let body = format!("#version 450\n#extension GL_NO_such : warn\n{LOCAL}void main() {{}}\n");
    assert_refused(compiled(&body), "GL_NO_such");
}

#[test]
fn a_second_run_changes_nothing_and_orphans_go() {
    let (_folder, tree) =
        tree(&format!("{HEAD}{LOCAL}{DATA}void main() {{ target[0] = source[0]; }}\n"));
    let generated = generate(&tree).unwrap();
    assert_eq!(differences(&tree, &generated).unwrap().len(), 3);
    assert_eq!(write(&tree, &generated).unwrap().len(), 3);
    let again = generate(&tree).unwrap();
    assert_eq!(again, generated);
    assert!(write(&tree, &again).unwrap().is_empty());

    let orphan = tree.compiled().join("old_b8.spv");
    fs::write(&orphan, []).unwrap();
    fs::write(tree.spirv("test_b32"), [0; 4]).unwrap();
    let expected = [orphan.clone(), tree.spirv("test_b32")];
    assert_eq!(differences(&tree, &generated).unwrap(), expected);
    assert_eq!(write(&tree, &generated).unwrap(), expected);
    assert!(!Path::new(&orphan).exists());

    assert_eq!(dml_spirv_compiler::manifest::check(&tree).unwrap(), []);
    fs::write(tree.kernels().join("unused.txt"), "").unwrap();
    assert_refused(generate(&tree), "kernels/unused.txt: no kernel uses it");
}

#[test]
fn constants_that_kernels_toml_does_not_name_are_refused() {
    let constant = "layout(constant_id = 0) const uint N = 5;\n";
    let (_folder, tree) =
        tree(&format!("{HEAD}{LOCAL}{DATA}{constant}void main() {{ target[0] = source[N]; }}\n"));
    assert_refused(generate(&tree), "test_b32: kernels.toml names the specialization constants");
}
