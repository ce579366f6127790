//! How bytes get to the device and back: in place where the host maps the device's memory, staged elsewhere. There is one
//! injector in a process, so this is its only test.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::device::{on_every_device_as, options};
use common::onnx::{Graph, floats, model, node, value};
use common::{f32s, host, tensors};
use dml::vk::HostAccess;
use dml::{Device, DeviceOptions};
use dml_fault::Injector;
use dml_import::{Inputs, Model, Session};

const WEIGHTS: usize = 40;
/// Elements of a weight: less than a batch of uploads, all together.
const WIDTH: u64 = 4096;

/// Three outputs from two inputs: `p = a + w0 + w1 + ..`, `q = a - b`, `r = a * b`.
fn network() -> Vec<u8> {
    let mut nodes = vec![];
    let mut last = "a".to_owned();
    for index in 0..WEIGHTS {
        let next = if index + 1 == WEIGHTS { "p".to_owned() } else { format!("s{index}") };
        nodes.push(node("Add", &[&last, &format!("w{index}")], &[&next], &[]));
        last = next;
    }
    nodes.push(node("Sub", &["a", "b"], &["q"], &[]));
    nodes.push(node("Mul", &["a", "b"], &["r"], &[]));
    let width = WIDTH.cast_signed();
    let weight = |index: usize| {
        let values = (0..WIDTH).map(|it| f32::from(u8::try_from(it % 13).unwrap()) + index as f32);
        floats(&format!("w{index}"), &[width], &values.collect::<Vec<f32>>())
    };
    let graph = Graph {
        nodes,
        initializers: (0..WEIGHTS).map(weight).collect(),
        inputs: ["a", "b"].map(|it| value(it, 1, &[None, Some(width)])).into(),
        outputs: ["p", "q", "r"].map(|it| value(it, 1, &[])).into(),
    };
    model(17, graph)
}

fn inputs(rows: u64) -> Inputs {
    let tensor = |step: u64| {
        let values = (0..rows * WIDTH).map(|it| f32::from(u8::try_from(it * step % 11).unwrap()));
        f32s(&[rows, WIDTH], &values.collect::<Vec<f32>>())
    };
    Inputs::new().with_tensor("a", tensor(3)).with_tensor("b", tensor(5))
}

/// The calls and bytes of a session on one device.
#[derive(Debug)]
struct Counts {
    access: HostAccess,
    /// Submissions and waits of the first run, with its compilation.
    first: [usize; 2],
    /// Submissions, waits, copies and barriers of a run that is recorded again.
    recorded: [usize; 4],
    /// Bytes of device memory for runs.
    arenas: u64,
}

fn counts(device: &Device, injector: &Injector) -> Counts {
    let of = |name: &str| injector.calls().iter().filter(|call| call.name() == name).count();
    let session = Session::new(device, Model::from_bytes(network()).unwrap());
    let run = |rows| {
        injector.arm(None);
        let outputs = session.run(&inputs(rows)).unwrap();
        let (submissions, waits) = (of("vkQueueSubmit"), of("vkWaitSemaphores"));
        let (copies, barriers) = (of("vkCmdCopyBuffer"), of("vkCmdPipelineBarrier"));
        let program = session.model().bind(&inputs(rows)).unwrap();
        assert_eq!(tensors(&outputs), tensors(&host::run(&program)), "{rows}");
        [submissions, waits, copies, barriers]
    };
    let [submissions, waits, ..] = run(2);
    // Larger buffers: the commands of the first shape are recorded again.
    run(4);
    let recorded = run(2);
    let arenas = session.memory_report().arenas;
    Counts { access: device.vulkan().host_access(), first: [submissions, waits], recorded, arenas }
}

#[test]
fn transfers_are_in_place_where_the_host_maps_the_devices_memory() {
    let injector = Injector::new().unwrap();
    injector.inject_everywhere();
    let all = |staged| {
        let all = std::cell::RefCell::new(vec![]);
        let options = DeviceOptions { staged_transfers: Some(staged), ..options() };
        on_every_device_as(&options, |device| all.borrow_mut().push(counts(device, &injector)));
        all.into_inner()
    };
    for (staged, direct) in all(true).into_iter().zip(all(false)) {
        assert_eq!(staged.access, HostAccess { writes: false, reads: false });
        // Weights and constants are one submission, which nobody waits for; the run is another one.
        assert_eq!(staged.first, [2, 1]);
        let HostAccess { writes, reads } = direct.access;
        assert_eq!(direct.first, [if writes { 1 } else { 2 }, 1], "{direct:?}");
        // Two inputs and three outputs are copied, and the outputs have one barrier.
        let [submissions, waits, copies, barriers] = direct.recorded;
        assert_eq!([submissions, waits], [1, 1], "{direct:?}");
        assert_eq!(copies, if writes { 0 } else { 2 } + if reads { 0 } else { 3 }, "{direct:?}");
        let expected = [1, 1, 5, barriers + usize::from(reads)];
        assert_eq!(staged.recorded, expected, "{direct:?}");
        // Memory for staging that is not needed is not allocated. The largest program had four rows.
        let tensor = 4 * WIDTH * 4;
        let saved = if writes { 2 * tensor } else { 0 } + if reads { 3 * tensor } else { 0 };
        assert_eq!(staged.arenas - direct.arenas, saved, "{direct:?}");
    }
}
