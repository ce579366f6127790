use super::*;

fn compiled(kernel: &str, waves: u64, instructions: u32) -> Compiled {
    let memory = BTreeMap::from([("load.b32".to_owned(), 9), ("scalar-load.b64".to_owned(), 1)]);
    let counted =
        Loop { instructions, float: 16, other_vector: 40, quarter_rate: 2, scalar: 12, memory };
    let (kernel, loops) = (kernel.to_owned(), vec![counted, Loop::default()]);
    Compiled { kernel, vgprs: 48, spills: 0, scratch: 0, lds: 512, waves, loops }
}

fn table(kernels: Vec<Compiled>) -> Table {
    let mut table = Table { compiler: "25.0.7-2".to_owned(), rows: Vec::new() };
    table.add("navi31", "a-work", kernels);
    table
}

#[test]
fn what_is_written_is_read() {
    let straight = Compiled { loops: Vec::new(), ..compiled("copy [64]", 32, 0) };
    let written = table(vec![compiled("sum of (a, b) [64,4]", 16, 79), straight]);
    let text = written.to_string();
    assert_eq!(Table::parse(&text).unwrap(), written, "{text}");
    assert_eq!(text.lines().nth(1), Some("# compiler: 25.0.7-2"));
    assert!(
        text.contains("\n    loop             0      0       0        0       0  -\n"),
        "{text}"
    );
    let last = text.lines().last().unwrap();
    assert!(last.ends_with("  a-work  copy [64]"), "{text}");
}

#[test]
fn a_table_names_its_compiler_and_a_wrong_line_its_number() {
    let error = |text: &str| format!("{:#}", Table::parse(text).unwrap_err());
    assert_eq!(error("# family\n"), "there is no line `# compiler: ...`");
    assert_eq!(error("# compiler: 1\nnavi31 1 2\n"), "line 2: too few columns");
    assert_eq!(error("# compiler: 1\nloop 1 2\n"), "line 2: a loop without a kernel");
    assert_eq!(
        error("# compiler: 1\nnavi31 many\n"),
        "line 2: many is not a number: invalid digit found in string"
    );
}

#[test]
fn a_kernel_of_several_works_has_one_row_and_of_several_forms_several() {
    let mut table = table(vec![compiled("sum [64]", 16, 79), compiled("sum [64]", 16, 80)]);
    table.add(
        "navi31",
        "another",
        vec![compiled("sum [64]", 16, 80), compiled("sum [64]", 16, 79)],
    );
    table.add("navi31", "another", vec![compiled("sum [64]", 16, 81)]);
    table.add("vega10", "another", vec![compiled("sum [64]", 16, 80)]);
    let names: Vec<_> = table.rows.iter().map(KernelEntry::name).collect();
    let expected = [
        ("navi31", "sum [64]"),
        ("navi31", "sum [64] #2"),
        ("navi31", "sum [64] #3"),
        ("vega10", "sum [64]"),
    ];
    assert_eq!(names, expected);
    assert_eq!(table.of(&["vega10".to_owned()]).rows.len(), 1);
}

#[test]
fn fewer_waves_and_a_longer_loop_are_worse() {
    let before = table(vec![compiled("sum [64]", 16, 80)]);
    let worse = |waves, instructions| {
        table(vec![compiled("sum [64]", waves, instructions)]).compared(&before).worse
    };
    assert!(worse(16, 80).is_empty() && worse(32, 40).is_empty());
    assert!(worse(16, 88).is_empty(), "a tenth is allowed");
    let one_loop = |instructions| {
        let mut one = compiled("sum [64]", 16, instructions);
        one.loops.truncate(1);
        table(vec![one]).compared(&before).worse.len()
    };
    assert_eq!([one_loop(88), one_loop(89)], [0, 1], "the longest are compared");
    let longer = "navi31: sum [64] (a-work): 89 instructions in an innermost loop, 80 before";
    assert_eq!(worse(16, 89), [longer]);
    assert_eq!(worse(12, 80), ["navi31: sum [64] (a-work): 12 waves, 16 before"]);
}

#[test]
fn what_is_new_changed_and_gone_differs() {
    let before = table(vec![compiled("a [64]", 16, 80), compiled("b [64]", 16, 80)]);
    let now = table(vec![compiled("a [64]", 16, 81), compiled("c [64]", 16, 80)]);
    let expected = [
        "navi31: a [64] (a-work): changed",
        "navi31: c [64] (a-work): new",
        "navi31: b [64]: gone",
    ];
    assert_eq!(now.compared(&before).differing, expected);
    assert_eq!(before.compared(&before), Comparison::default());
}

#[test]
fn a_spill_and_scratch_are_told() {
    let spilled = Compiled { spills: 3, ..compiled("a [64]", 16, 80) };
    let scratch = Compiled { scratch: 1024, ..compiled("b [64]", 16, 80) };
    let told = table(vec![spilled, scratch, compiled("c [64]", 16, 80)]).spilled();
    let expected = [
        "navi31: a [64] (a-work): 3 spilled registers, 0 bytes of scratch",
        "navi31: b [64] (a-work): 0 spilled registers, 1024 bytes of scratch",
    ];
    assert_eq!(told, expected);
}
