//! Valid and invalid profile files, and the error messages.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

#[track_caller]
fn refused(text: &str, message: &str) {
    let error = profile("folder/x.toml", text).unwrap_err().to_string();
    assert!(error.starts_with("folder/x.toml: "), "{error}");
    assert!(error.contains(message), "{error}");
}

#[test]
fn everything_that_a_file_can_state_is_read() {
    let text = r#"
        about = "x"
        api_version = "1.2.3"
        transfer_usage = false
        [features]
        shaderInt64 = true
        shaderInt8 = false
        [limits]
        maxComputeWorkGroupCount = [3, 2, 1]
        maxBufferSize = 9_223_372_036_854_775_807
    "#;
    let Profile { name, origin, cap } = profile("folder/some-name.toml", text).unwrap();
    assert_eq!((name.as_str(), origin), ("some-name", Origin::MadeUp("x".to_owned())));
    assert_eq!(cap.api_version().unwrap().to_string(), "1.2.3");
    assert!(cap.no_transfer_usage());
    assert_eq!(cap.feature(Feature::ShaderInt64), Some(true));
    assert_eq!(cap.feature(Feature::ShaderInt8), Some(false));
    assert_eq!(cap.feature(Feature::ShaderInt16), None);
    let counts = [
        Limit::MaxComputeWorkGroupCountX,
        Limit::MaxComputeWorkGroupCountY,
        Limit::MaxComputeWorkGroupCountZ,
    ];
    assert_eq!(counts.map(|limit| cap.limit(limit)), [Some(3), Some(2), Some(1)]);
    assert_eq!(cap.limit(Limit::MaxBufferSize), Some(i64::MAX.cast_unsigned()));
    assert_eq!(cap.limit(Limit::MaxPushConstantsSize), None);
}

#[test]
fn a_real_device_names_its_driver_source_and_version() {
    let text = "device = \"D\"\ndriver = \"1\"\nsource = \"S\"\napi_version = \"1.1\"\n";
    assert!(profile("x.toml", text).unwrap().is_device());
    for key in ["driver", "source", "api_version"] {
        let lines = text.lines().filter(|line| !line.starts_with(key));
        let without = lines.collect::<Vec<_>>().join("\n");
        refused(&without, &format!("{key}: is missing; accepted: a text"));
    }
    refused("driver = \"1\"\nabout = \"a\"", "driver: stands without device");
    refused("", "about: is missing");
}

#[test]
fn a_real_device_has_the_uniform_blocks_that_every_device_has_unless_it_states_others() {
    let device =
        "device = \"D\"\ndriver = \"1\"\nsource = \"S\"\napi_version = \"1.1\"\n[limits]\n";
    let uniform = [
        Limit::MaxUniformBufferRange,
        Limit::MinUniformBufferOffsetAlignment,
        Limit::MaxPerStageDescriptorUniformBuffers,
    ];
    let limits =
        |text: &str| uniform.map(|uniform| profile("x.toml", text).unwrap().cap.limit(uniform));
    assert_eq!(limits(device), [16_384, 256, 12].map(Some));
    let stated = format!("{device}maxUniformBufferRange = 65_536\n");
    assert_eq!(limits(&stated), [65_536, 256, 12].map(Some));
    assert_eq!(limits("about = \"made up\"\n"), [None; 3]);
}

#[test]
fn unknown_and_duplicate_keys_are_refused() {
    let similar = "limit: unknown key (did you mean limits?); accepted: about, device, driver";
    refused("about = \"a\"\nlimit = 1", similar);
    refused("about = \"a\"\n[limits]\nmaxFoo = 1", "limits.maxFoo: unknown key; accepted: maxStor");
    refused(
        "about = \"a\"\n[features]\nint8 = true",
        "features.int8: unknown key (did you mean shaderInt8?); accepted: robustBufferAccess",
    );
    refused("about = \"a\"\n\nabout = \"b\"", "line 3: duplicate key in `about = \"b\"`");
    refused("about = \"a\"\n[limits]\n[limits]", "line 3: ");
    refused("about", "line 1: ");
}

#[test]
fn values_are_refused_with_what_is_accepted() {
    let limit = |text: &str| format!("about = \"a\"\n[limits]\n{text}");
    refused(&limit("maxBufferSize = \"big\""), "limits.maxBufferSize: \"big\" is not accepted");
    refused(&limit("maxBufferSize = 0"), "accepted: an integer, 1 and more");
    refused(&limit("maxBufferSize = -4"), "-4 is not accepted");
    refused(&limit("maxBufferSize = [1, 1, 1]"), "accepted: an integer");
    refused(&limit("maxComputeWorkGroupCount = 65535"), "accepted: three integers");
    refused(&limit("maxComputeWorkGroupCount = [1, 0, 1]"), "accepted: three integers");
    refused(&limit("minStorageBufferOffsetAlignment = 48"), "accepted: a power of two up to 256");
    refused("about = \"a\"\nlimits = 1", "limits: 1 is not accepted; accepted: a table");
    refused("about = \"a\"\n[features]\nshaderInt8 = 1", "accepted: true, false");
    refused("about = \"a\"\ntransfer_usage = 0", "transfer_usage: 0 is not accepted");
    refused("about = \"a\"\napi_version = \"1.0\"", "\"1.0\" is not a version; accepted: \"1.1\"");
    refused("about = \"a\"\napi_version = 1.1", "api_version: 1.1 is not accepted");
    refused("about = \"  \"", "about: ");
}
