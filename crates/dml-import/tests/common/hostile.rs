//! Malicious files. `dml-import` refuses each in its own process, and `dml` under limits of the operating
//! system.

use super::onnx::{
    Graph, Message, circle, initializer, model, node, of_shape, outputs, value, vast_initializer,
};

/// A file that must be refused: its name, its bytes, and a part of the message.
pub(crate) type HostileFile = (&'static str, Vec<u8>, &'static str);

fn file(name: &'static str, bytes: impl Into<Vec<u8>>, message: &'static str) -> HostileFile {
    (name, bytes.into(), message)
}

/// Files that declare sizes and counts far beyond their content.
pub(crate) fn declared_sizes() -> Vec<HostileFile> {
    let mut files = vec![
        file("a.onnx", vast_initializer(), "tensor 's': 8 bytes for int64"),
        file("a.onnx", of_shape(&[-1, 2], "EyeLike"), "-1 is not a size"),
        // A message of 2^62 bytes, which is missing.
        file("a.onnx", b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x3f\0", "is not an ONNX model"),
        file("a.json", resource("\"sizeInBytes\": 9223372036854775808"), "is not a size"),
    ];
    // Shapes that become so large only by the model's arithmetic.
    for sizes in [[1 << 32, 1 << 31], [i64::MAX, i64::MAX], [i64::MAX, 1]] {
        for op in ["EyeLike", "Trilu", "Identity"] {
            files.push(file("a.onnx", of_shape(&sizes, op), "has too many elements"));
        }
    }
    for count in [0, 1 << 40, 1 << 63, u64::MAX] {
        let values = format!("\"initialValues\": {{ \"valueCount\": {count}, \"value\": 1 }}");
        files.push(file("a.json", resource(&values), "is not a number of values"));
    }
    files
}

/// A script with one resource of 64-bit floats.
pub(crate) fn resource(fields: &str) -> String {
    format!(
        "{{ \"resources\": {{ \"a\": {{ \"initialValuesDataType\": \"FLOAT64\", {fields} }} }}, \
         \"dispatchables\": {{}}, \"commands\": [] }}"
    )
}

/// Files with circular dependencies or endless nesting.
pub(crate) fn circles_and_depth() -> Vec<HostileFile> {
    let itself = vec![node("EyeLike", &["y"], &["y"], &[])];
    let itself = Graph { nodes: itself, outputs: outputs(), ..Graph::default() };
    let of_itself = "EyeLike 'y': nodes use each other's outputs";
    let net =
        format!("<net version=\"11\">{}{}</net>", "<a>".repeat(100_000), "</a>".repeat(100_000));
    let arrays = format!("{{\"resources\": {}", "[".repeat(100_000));
    vec![
        file("a.onnx", circle(), "nodes use each other's outputs in a circle"),
        file("a.onnx", model(13, itself), of_itself),
        file("a.onnx", nested_graphs(), "If 'y': not supported"),
        file("a.xml", circle_of_layers(), "in a circle"),
        file("a.xml", "<a>".repeat(500_000), "is not XML"),
        file("a.xml", net, "no layer of type Result"),
        file("a.json", arrays, "recursion limit"),
        file("a.json", "{\"resources\":".repeat(200_000), "is not JSON"),
        file("a.json", "{\"resources\":[[[[[".repeat(200_000), "is not JSON"),
    ]
}

/// Graphs nested in attributes of nodes.
fn nested_graphs() -> Vec<u8> {
    let output = || value("y", 1, &[]);
    let branch =
        |name: &str, graph: Message| Message::default().text(1, name).message(6, graph).int(20, 5);
    let flat = Message::default().message(1, node("Identity", &["s"], &["y"], &[]));
    let mut graph = flat.clone().message(12, output());
    for _ in 0..2000 {
        let inner = node("If", &["c"], &["y"], &[])
            .message(5, branch("then_branch", graph))
            .message(5, branch("else_branch", flat.clone().message(12, output())));
        graph = Message::default().message(1, inner).message(12, output());
    }
    let yes = Message::default().int(2, 9).text(8, "c").bytes(9, &[1]);
    let graph = graph.message(5, yes).message(5, initializer("s", &[1], &[1]));
    let opset = Message::default().int(2, 13);
    Message::default().message(7, graph).message(8, opset).0
}

fn circle_of_layers() -> String {
    let layer = |id: u32, kind: &str| {
        format!(
            "<layer id=\"{id}\" name=\"n{id}\" type=\"{kind}\" version=\"opset1\">\
             <data destination_type=\"f32\"/><input><port id=\"0\"/></input>\
             <output><port id=\"1\"/></output></layer>"
        )
    };
    let edge = |from: u32, to: u32| {
        format!("<edge from-layer=\"{from}\" from-port=\"1\" to-layer=\"{to}\" to-port=\"0\"/>")
    };
    let layers = [layer(0, "Convert"), layer(1, "Convert"), layer(2, "Result")].concat();
    let edges = [edge(0, 1), edge(1, 0), edge(1, 2)].concat();
    format!("<net version=\"11\"><layers>{layers}</layers><edges>{edges}</edges></net>")
}

/// Small graphs that take much work on the host.
pub(crate) fn work_on_the_host() -> Vec<HostileFile> {
    let mut nodes = vec![node("Range", &["first", "count", "step"], &["c0"], &[])];
    // Every one of them reads and writes a million elements, which a shape depends on.
    nodes.extend((0..2000).map(|index| {
        let (from, to) = (format!("c{index}"), format!("c{}", index + 1));
        node("Slice", &[&from, "z", "e"], &[&to], &[])
    }));
    nodes.push(node("ConstantOfShape", &["c2000"], &["y"], &[]));
    let initializers = vec![
        initializer("first", &[], &[0]),
        initializer("count", &[], &[1 << 20]),
        initializer("step", &[], &[1]),
        initializer("z", &[1], &[0]),
        initializer("e", &[1], &[i64::MAX]),
    ];
    let graph = Graph { nodes, initializers, outputs: outputs(), ..Graph::default() };
    vec![file("a.onnx", model(13, graph), "computes more on the host than")]
}

/// Truncated files.
pub(crate) fn cut_off() -> Vec<HostileFile> {
    let whole = of_shape(&[3, 4], "EyeLike");
    let ends = [1, 2, whole.len() / 2, whole.len() - 1];
    let mut files = Vec::from(ends.map(|end| file("a.onnx", &whole[..end], "not a")));
    files.push(file("a.json", "{ \"resources\": { \"a", "is not JSON"));
    files.push(file("a.xml", "<net version=\"11\"><layers><layer", "is not XML"));
    files
}

/// XML entities, and paths outside of the model's folder.
pub(crate) fn entities_and_foreign_files() -> Vec<HostileFile> {
    const REFUSED: &str = "is not XML, or refused";
    let mut entities = "<!DOCTYPE net [<!ENTITY a0 \"ha\">".to_owned();
    for index in 1..40 {
        let before = index - 1;
        entities += &format!("<!ENTITY a{index} \"&a{before};&a{before};\">");
    }
    entities += "]><net version=\"11\" name=\"&a39;\"/>";
    let external = "<!DOCTYPE n [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><net>&a;</net>";
    let system = "<!DOCTYPE net SYSTEM \"file:///etc/passwd\"><net version=\"11\"/>";
    let unknown = "<net version=\"11\">&x;</net>";
    let mut files: Vec<HostileFile> =
        [&entities[..], external, system, unknown].map(|xml| file("a.xml", xml, REFUSED)).into();
    for location in ["../secret", "/etc/passwd", "a/../../secret", "..\\secret", "C:\\secret"] {
        let entry = Message::default().text(1, "location").text(2, location);
        let tensor =
            Message::default().int(1, 1).int(2, 7).text(8, "s").message(13, entry).int(14, 1);
        let graph = Graph {
            nodes: vec![node("ConstantOfShape", &["s"], &["y"], &[])],
            initializers: vec![tensor],
            outputs: outputs(),
            ..Graph::default()
        };
        files.push(file("a.onnx", model(13, graph), "leaves the model's folder"));
        let source = format!("\"initialValues\": {{ \"sourcePath\": {location:?} }}");
        files.push(file("a.json", resource(&source), "leaves the model's folder"));
    }
    files
}
