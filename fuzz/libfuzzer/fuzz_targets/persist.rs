#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| (chancery_fuzz::target("persist").run)(input));
