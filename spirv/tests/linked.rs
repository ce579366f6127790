//! Every kernel that can be linked is valid, small, what it was before, and has its roundings where
//! they are written.
#![allow(clippy::unwrap_used, reason = "a failure is what a test reports")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use dml_spirv::element_wise::{
    AccessPattern, ElementFormula, ElementWise, KernelOperand, Quads, Value,
};
use dml_spirv::functions::{self, Function};
use dml_spirv::product::{Product, cooperative};
use dml_spirv::reduce::{
    Elements, Form, GREATEST_F32, REDUCERS, ROUNDED_SUM_F32, Reduce, SUM_F32, SUM_I32, SUM_I64,
};
use dml_spirv::scan::Scan;
use dml_spirv::sort::sort;
use dml_spirv::transpose::Transpose;
use dml_spirv::{ElementWidth, Float16, NativeTypes, kernels};

#[path = "linked/contraction.rs"]
mod contraction;
#[path = "linked/rows.rs"]
mod rows;

use contraction::{OP_VARIABLE, STORAGE_BUFFER, instructions};

/// SwiftShader's compiler takes more than linear time: a kernel of twice this size shows. The largest are of
/// functions that loop over the elements of a quad, and the logarithm of a sum of rows of any strides.
const MOST_BYTES: usize = 33 << 10;
/// The limit for kernels with several phases, in which each function exists once.
const MOST_BYTES_OF_ROWS: usize = 45 << 10;
/// The limit for attention, which multiplies queries and keys in up to three passes. Only GPUs run it.
const MOST_BYTES_OF_ATTENTION: usize = 80 << 10;

/// A kernel of one function.
fn kernel(
    function: &'static Function,
    access: [AccessPattern; 2],
    outer_dimensions: usize,
) -> ElementWise {
    let [input, output] = function.widths();
    let inputs = vec![KernelOperand { width: input, access: access[0] }; function.arity];
    let program = ElementFormula::of(function);
    let output = KernelOperand { width: output, access: access[1] };
    ElementWise { program, inputs, output, second: None, outer_dimensions }
}

/// A kernel that copies elements.
fn copy(width: ElementWidth, access: [AccessPattern; 2], outer_dimensions: usize) -> ElementWise {
    let [input, output] = access.map(|access| KernelOperand { width, access });
    let (program, inputs) = (ElementFormula::default(), vec![input]);
    ElementWise { program, inputs, output, second: None, outer_dimensions }
}

/// A kernel that reads or writes elements where an index leads.
fn displaced(width: ElementWidth, of_rows: bool, of_output: bool) -> ElementWise {
    let mut program = ElementFormula::default();
    let by = program.apply(
        &functions::CHECKED_I32,
        vec![Value::Input(1), Value::Parameter(0), Value::Parameter(1)],
    );
    program.apply(&functions::SAME, [Value::Input(0)]);
    let access = |is_displaced| match (is_displaced, of_rows) {
        (false, false) => AccessPattern::Ragged,
        (true, false) => AccessPattern::Displaced(by),
        (false, true) => AccessPattern::Whole,
        (true, true) => AccessPattern::Moved(by),
    };
    let of_indices = if of_rows { AccessPattern::Single } else { AccessPattern::Ragged };
    let indices = KernelOperand { width: ElementWidth::B32, access: of_indices };
    let [input, output] =
        [!of_output, of_output].map(|it| KernelOperand { width, access: access(it) });
    ElementWise { program, inputs: vec![input, indices], output, second: None, outer_dimensions: 2 }
}

/// Links a kernel.
type Link = Box<dyn Fn() -> Vec<u32>>;

/// All optional types.
const NATIVE: NativeTypes = {
    let (int64, storage8, storage16, dot_product) = (true, true, true, true);
    NativeTypes { int64, storage8, storage16, float16: Float16::All, dot_product }
};

/// Adds a kernel, and those which use optional types where they are others.
fn insert(
    all: &mut BTreeMap<String, Link>,
    name: String,
    link: impl Fn(NativeTypes) -> Vec<u32> + Clone + 'static,
) {
    let normal = NativeTypes { float16: Float16::Normal, ..NATIVE };
    let mut last = NativeTypes::NONE;
    for (types, by) in [(NATIVE, " native"), (normal, " native without subnormal halves")] {
        if link(types) != link(last) {
            let link = link.clone();
            all.insert(format!("{name}{by}"), Box::new(move || link(types)));
        }
        last = types;
    }
    all.insert(name, Box::new(move || link(NativeTypes::NONE)));
}

/// Every function on rows without gaps, every width, class of strides and number of dimensions, every
/// reducer, grids with some, and every kernel of products and of transposes.
fn every_kernel() -> BTreeMap<String, Link> {
    let mut all: BTreeMap<String, Link> = BTreeMap::new();
    for reducer in REDUCERS {
        for (access, outer) in
            [(AccessPattern::Whole, 1), (AccessPattern::Ragged, 7), (AccessPattern::Ragged, 0)]
        {
            let kernel = rows::reduce(reducer, access, outer);
            insert(&mut all, format!("{reducer:?} {access:?} {outer}"), move |types| {
                kernel.spirv(types)
            });
        }
    }
    for reducer in [&SUM_F32, &GREATEST_F32, &SUM_I64] {
        for form in [Form::OneBlock, Form::Group, Form::ColumnGroups] {
            let kernel = Reduce { form, ..rows::reduce(reducer, AccessPattern::Whole, 1) };
            let quads = Quads { in_every_row: 1, ..kernel.quads };
            for kernel in [Reduce { quads, ..kernel.clone() }, kernel] {
                let name = format!("{reducer:?} {form:?}{}", kernel.quads);
                insert(&mut all, name, move |types| kernel.spirv(types));
            }
        }
        let kernel = rows::reduce_grids(reducer);
        insert(&mut all, format!("{reducer:?} grids"), move |types| kernel.spirv(types));
    }
    for form in [Form::Blocks, Form::OneBlock, Form::Group, Form::ColumnGroups] {
        let inputs = vec![KernelOperand { width: ElementWidth::B64, access: AccessPattern::Whole }];
        let states = rows::reduce(&SUM_F32, AccessPattern::Whole, 1);
        let kernel = Reduce { elements: Elements::States, form, inputs, ..states };
        insert(&mut all, format!("states {form:?}"), move |types| kernel.spirv(types));
    }
    for reducer in [&ROUNDED_SUM_F32, &SUM_I32] {
        for form in [Form::Blocks, Form::Columns, Form::Group, Form::ColumnGroups] {
            let kernel = rows::products(reducer, form);
            insert(&mut all, format!("products {reducer:?} {form:?}"), move |types| {
                kernel.spirv(types)
            });
        }
    }
    for width in [ElementWidth::B4, ElementWidth::B8, ElementWidth::B16, ElementWidth::B32] {
        let kernel = rows::products_of_integers(width);
        insert(&mut all, format!("products of integers {width:?}"), move |types| {
            kernel.spirv(types)
        });
    }
    for form in [Form::OneBlock, Form::Group] {
        let states = rows::reduce(&ROUNDED_SUM_F32, AccessPattern::Whole, 1);
        let kernel = Reduce { elements: Elements::States, form, ..states };
        insert(&mut all, format!("states of one word {form:?}"), move |types| kernel.spirv(types));
    }
    for form in [Form::Blocks, Form::OneBlock, Form::Group, Form::Long] {
        for kernel in [rows::softmax(form), rows::norm(form)] {
            let name = format!("rows, {} phases, {form:?}", kernel.phases.len());
            insert(&mut all, name, move |types| kernel.spirv(types));
        }
    }
    for form in [Form::Blocks, Form::OneBlock, Form::Group, Form::Long, Form::Segments] {
        let kernel = rows::root_of_sum(form);
        insert(&mut all, format!("root of sum {form:?}"), move |types| kernel.spirv(types));
    }
    for kernel in rows::segments() {
        let name = format!("rows, {} phases, {:?}", kernel.phases.len(), kernel.form);
        insert(&mut all, name, move |types| kernel.spirv(types));
    }
    for (name, kernel) in rows::attentions() {
        insert(&mut all, name, move |types| kernel.spirv(types));
    }
    for product in Product::all() {
        all.insert(format!("{product:?}"), Box::new(move || product.spirv()));
    }
    for transpose in Transpose::all() {
        all.insert(format!("{transpose:?}"), Box::new(move || transpose.spirv()));
    }
    for reducer in REDUCERS {
        // Numbers that are states by themselves are read alike.
        for begins in [true, false].into_iter().take(reducer.joins().len()) {
            let kernel = Scan { reducer, begins };
            let name = format!("{reducer:?} scan {}", if begins { "elements" } else { "states" });
            insert(&mut all, name, move |types| kernel.spirv(types));
        }
    }
    let words = |it: &[u8]| it.as_chunks::<4>().0.iter().copied().map(u32::from_le_bytes).collect();
    all.insert("Cooperative".to_owned(), Box::new(move || words(&cooperative().spirv)));
    all.insert("Sort".to_owned(), Box::new(move || words(&sort().spirv)));
    for function in functions::all() {
        let kernel = kernel(function, [AccessPattern::Whole; 2], 0);
        insert(&mut all, format!("{function:?}"), move |types| kernel.spirv(types));
    }
    for width in ElementWidth::ALL {
        for (name, of_rows, of_output) in [
            ("Displaced Ragged", false, false),
            ("Ragged Displaced", false, true),
            ("Moved Whole", true, false),
        ] {
            let kernel = displaced(width, of_rows, of_output);
            insert(&mut all, format!("{width:?} {name} 2"), move |types| kernel.spirv(types));
        }
        for input in [AccessPattern::Whole, AccessPattern::Ragged, AccessPattern::Single] {
            for output in [AccessPattern::Whole, AccessPattern::Ragged] {
                for outer in [0, 1, 2, 4, 7] {
                    let name = format!("{width:?} {input:?} {output:?} {outer}");
                    let kernel = copy(width, [input, output], outer);
                    insert(&mut all, name, move |types| kernel.spirv(types));
                }
            }
        }
    }
    all
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The messages of spirv-val on a module; empty if it is valid, or if the tool is too old to know its instructions.
#[expect(clippy::print_stderr, reason = "what is left out is told")]
fn complaint(words: &[u32]) -> String {
    let mut child = Command::new("spirv-val")
        .args(["--target-env", "vulkan1.1", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("spirv-val is on PATH: `cargo xtask setup` provides it");
    child.stdin.take().unwrap().write_all(&bytes(words)).unwrap();
    let output = child.wait_with_output().unwrap();
    let complaint = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if complaint.contains(TOO_OLD) {
        eprintln!("not validated: spirv-val is older than cooperative matrices");
        return String::new();
    }
    complaint
}

/// A message of Debian 12's spirv-val on cooperative matrices.
const TOO_OLD: &str = "Invalid capability operand: 6022";

#[test]
fn every_kernel_is_valid_and_small() {
    for (name, link) in every_kernel() {
        let words = link();
        assert_eq!(complaint(&words), "", "{name}");
        let most = match name.split([' ', ',']).next() {
            Some("rows") => MOST_BYTES_OF_ROWS,
            Some("attention") => MOST_BYTES_OF_ATTENTION,
            _ => MOST_BYTES,
        };
        assert!(words.len() * 4 <= most, "{name}: {} bytes", words.len() * 4);
    }
}

/// FNV-1a, which is enough to see a change.
fn hash(words: &[u32]) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes(words).into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// A change here is meant, or it is a defect: the file is written by `DML_UPDATE_LINKED=1`.
#[test]
fn every_kernel_is_what_it_was() {
    let mut text = String::new();
    for (name, link) in every_kernel() {
        let words = link();
        assert_eq!(words, link(), "{name} is not linked alike twice");
        let _ = writeln!(text, "{:016x} {} {name}", hash(&words), words.len() * 4);
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/linked.txt");
    if std::env::var_os("DML_UPDATE_LINKED").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let recorded = std::fs::read_to_string(path).unwrap();
    assert!(text == recorded.replace("\r\n", "\n"), "differs from {path}; it is now\n{text}");
}

#[test]
fn a_kernel_has_what_it_uses_and_no_more() {
    let one = kernel(&functions::ADD_F32, [AccessPattern::Whole; 2], 0).spirv(NativeTypes::NONE);
    let variables = instructions(&one)
        .filter(|it| it[0] & 0xffff == OP_VARIABLE && it[3] == STORAGE_BUFFER)
        .count();
    // Two inputs and the output, each by four words at a time.
    assert_eq!(variables, 3);
}

#[test]
fn a_kernel_needs_the_features_of_the_types_that_it_uses_and_no_others() {
    use dml_core::capabilities::Feature::{
        ShaderDenormPreserveFloat16, ShaderFloat16, ShaderInt64, ShaderRoundingModeRteFloat16,
        ShaderSignedZeroInfNanPreserveFloat16, StorageBuffer8BitAccess, StorageBuffer16BitAccess,
    };
    let features = |kernel: ElementWise, types| kernel.variant(types).required_features.to_vec();
    let add = |function| kernel(function, [AccessPattern::Whole; 2], 0);
    let copied = |width, access| copy(width, [access; 2], 1);
    assert_eq!(features(add(&functions::ADD_I64), NATIVE), [ShaderInt64]);
    assert!(features(add(&functions::ADD_I64), NativeTypes::NONE).is_empty());
    assert!(features(add(&functions::ADD_F32), NATIVE).is_empty());
    let half = |float16| features(add(&functions::F16_TO_F32), NativeTypes { float16, ..NATIVE });
    let (rounds, keeps) = (ShaderRoundingModeRteFloat16, ShaderSignedZeroInfNanPreserveFloat16);
    assert_eq!(half(Float16::Normal), [ShaderFloat16, rounds, keeps]);
    let all = [ShaderFloat16, rounds, ShaderDenormPreserveFloat16, keeps];
    assert_eq!(half(Float16::All), all);
    assert!(features(add(&functions::BIT_AND_WIDE), NATIVE).is_empty());
    let narrow = [
        (ElementWidth::B8, StorageBuffer8BitAccess),
        (ElementWidth::B16, StorageBuffer16BitAccess),
    ];
    for (width, feature) in narrow {
        assert_eq!(features(copied(width, AccessPattern::Ragged), NATIVE), [feature]);
        assert!(features(copied(width, AccessPattern::Ragged), NativeTypes::NONE).is_empty());
        // Whole words suffice for rows of whole quads.
        assert!(features(copied(width, AccessPattern::Whole), NATIVE).is_empty());
    }
}

/// Compilers of GPUs write each native division out.
#[test]
fn a_kernel_with_several_divisions_of_64_bits_has_no_native_ones() {
    let kernel = kernel(&functions::DIVIDE_U64, [AccessPattern::Whole; 2], 0);
    let mut twice = kernel.clone();
    twice.program.steps.own().push(kernel.program.steps[0].clone());
    assert_ne!(kernel.spirv(NATIVE), kernel.spirv(NativeTypes::NONE));
    assert_eq!(twice.spirv(NATIVE), twice.spirv(NativeTypes::NONE));
}

#[test]
fn every_function_of_a_library_has_its_rows() {
    let mut named: Vec<&str> = functions::all().map(|it| it.library.name).collect();
    named.dedup();
    // The same functions by other means.
    let native = [
        &kernels::WIDE_INT64,
        &kernels::F64_INT64,
        &kernels::F16_FLOAT16,
        &kernels::F16_SUBNORMALS,
    ];
    named.extend(native.map(|source| source.name));
    let others = ["memory", "attention_", "element_wise", "product_", "reduce_", "rows_"];
    let others = others.into_iter().chain(["scan_", "sum_", "sort", "copy_tiles"]);
    for source in kernels::LINKED {
        let is_other = others.clone().any(|other| source.name.starts_with(other));
        assert!(is_other || named.contains(&source.name), "{} has no row", source.name);
    }
}

#[test]
fn spaces_with_one_skeleton_have_one_kernel() {
    let variant = |outer| {
        copy(ElementWidth::B32, [AccessPattern::Whole; 2], outer).variant(NativeTypes::NONE)
    };
    assert!(std::ptr::eq(&*variant(3), &*variant(4)));
    assert!(!std::ptr::eq(&*variant(2), &*variant(4)));
}
