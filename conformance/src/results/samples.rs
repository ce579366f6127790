//! Results for tests.

use super::*;

/// A run with one device and one case of every result.
pub(crate) fn run() -> Run {
    Run {
        format: FORMAT,
        conformance_version: "0.0.0-sample".to_owned(),
        selection: Selection { levels: vec!["5_1".to_owned()], ..Selection::default() },
        agreement: None,
        targets: vec![target()],
    }
}

/// A run of the host interpreter, which cannot run one of two cases.
pub(crate) fn interpreted() -> Run {
    let mut run = run();
    let target = &mut run.targets[0];
    target.device.kind = DeviceIdentity::INTERPRETER.to_owned();
    target.cases.retain(|case| case.result == ResultCode::NotRun);
    run
}

/// A device with one case of every result.
pub(crate) fn target() -> TargetRun {
    let names = ["int64", "int32", "int16", "int8", "float32", "float16", "float64", "uint8"];
    let ids = names.map(|name| format!("5_1/diagonal_matrix/{name}/rank2/offset_zero"));
    let cases = ids.iter().zip(ResultCode::ALL).map(|(id, result)| case(id, result));
    let mut target = TargetRun {
        device: DeviceIdentity {
            name: "Sample <device> & co".to_owned(),
            kind: "CPU".to_owned(),
            vendor_id: 0x10005,
            device_id: 1,
            api_version: "1.1.0".to_owned(),
            driver_name: "sample driver".to_owned(),
            driver_info: "1.2".to_owned(),
            driver_version: 1,
            driver_id: 0,
            uuid: "00000000-0000-0000-0000-000000000000".to_owned(),
        },
        profile: None,
        strategy: None,
        emulated: false,
        numerics: Numerics::Exact,
        validation: true,
        robust_access: Some(true),
        staged_transfers: false,
        work_bound: None,
        sample: None,
        features: BTreeMap::from([("shaderInt64".to_owned(), false)]),
        limits: BTreeMap::from([("maxStorageBufferRange".to_owned(), 1 << 27)]),
        support: vec![Support {
            operator: "diagonal_matrix".to_uppercase(),
            at: block("INT64", &[2]),
            answer: "emulated".to_owned(),
            text: "emulated (without shaderInt64: two 32-bit words)".to_owned(),
        }],
        errors: vec![LargestError {
            operator: "diagonal_matrix".to_uppercase(),
            data_type: "FLOAT32".to_owned(),
            allowed: 1,
            ulp: Some(0),
            cases: 1,
        }],
        kernels: Some(KernelUse::default()),
        required: vec!["diagonal_matrix".to_uppercase()],
        passes: vec![],
        cases: vec![],
        times: Times::default(),
        seconds: 1.5,
    };
    set_cases(&mut target, cases);
    target
}

/// Replaces all that `target` says about cases: these ended there, and were executed if they passed.
pub(crate) fn set_cases(target: &mut TargetRun, cases: impl IntoIterator<Item = CaseResult>) {
    let mut tally = tally::Tally::default();
    cases.into_iter().for_each(|case| tally.add(case));
    tally.finish(target);
}

/// One data type at 5_1.
pub(crate) fn block(data_type: &str, ranks: &[usize]) -> Block {
    let levels = ["5_1", "5_1"].map(str::to_owned);
    Block { levels, data_types: vec![data_type.to_owned()], ranks: ranks.to_vec() }
}

/// A case that ended this way, with whatever belongs to it.
pub(crate) fn case(id: &str, result: ResultCode) -> CaseResult {
    let rows = |wrong: &str| vec![vec!["1".to_owned(), "0".to_owned()], vec![wrong.to_owned()]];
    let matrices = Excerpt {
        output: 0,
        batch: vec![],
        first_row: 0,
        first_column: 0,
        expected: rows("1"),
        actual: rows("165"),
    };
    let failure = Failure {
        descriptor: "DIAGONAL_MATRIX { Offset: 0 }".to_owned(),
        plan: "fill Output(0) 0..16 <zeros>".to_owned(),
        matrices: Some(matrices),
    };
    let is_expected = matches!(result, ResultCode::ExpectedFail | ResultCode::UnexpectedPass);
    let reason = "a reason".to_owned();
    CaseResult {
        id: id.parse().expect("an id"),
        result,
        executed: result == ResultCode::Pass,
        dispatched: result == ResultCode::Pass,
        detail: (result != ResultCode::Pass).then(|| format!("{} & why", result.name())),
        expected: is_expected.then_some(Expected { kind: ExpectedKind::NotYet, reason }),
        failure: (result == ResultCode::Fail).then(|| Box::new(failure)),
        microseconds: 250,
        digest: None,
        errors: vec![],
        kernels: CaseKernels::default(),
    }
}
