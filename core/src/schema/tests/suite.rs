use crate::json::Json;
use crate::schema::*;
use serde_json::Value;

#[test]
fn official_suite() {
    let root = std::path::Path::new("/tmp/suite/jsonschema-4.26.0/json/tests");
    let mut bad = 0;
    let mut good = 0;
    let mut refused = 0;
    for (dir, dialect) in [
        ("draft4", Dialect::Draft04),
        ("draft6", Dialect::Draft06),
        ("draft7", Dialect::Draft07),
        ("draft2019-09", Dialect::Draft201909),
        ("draft2020-12", Dialect::Draft202012),
    ] {
        let mut files: Vec<_> = std::fs::read_dir(root.join(dir))
            .unwrap()
            .chain(std::fs::read_dir(root.join(dir).join("optional")).unwrap())
            .map(|e| e.unwrap().path())
            .filter(|p| p.extension().is_some_and(|e| e == "json"))
            .collect();
        files.sort();
        for file in files {
            let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
            for case in cases {
                let mut schema = case["schema"].clone();
                if let Some(m) = schema.as_object_mut() {
                    m.entry("$schema").or_insert(Value::from(dialect.uri()));
                } else if dialect != Dialect::Draft202012 {
                    continue;
                }
                let name = format!("{dir}/{} {}", file.file_name().unwrap().to_string_lossy(), case["description"]);
                match Schema::compile(&Json::from(schema.clone()), &SchemaLimits::default()) {
                    Err(SchemaError::RemoteReference { reference, .. }) => {
                        refused += 1;
                        println!("REFUSED {name} {reference}");
                    }
                    Err(e) => {
                        println!("COMPILE {name}: {e}");
                        bad += 1;
                    }
                    Ok(compiled) => {
                        for test in case["tests"].as_array().unwrap() {
                            let r = compiled.validate(&test["data"]);
                            let ok = match &r {
                                Ok(()) => true,
                                Err(ValidateError::Invalid(i)) => {
                                    assert!(!i.problems().is_empty());
                                    false
                                }
                                Err(e) => {
                                    println!("ERR {name} {}: {e}", test["description"]);
                                    bad += 1;
                                    continue;
                                }
                            };
                            if Value::Bool(ok) == test["valid"] {
                                good += 1
                            } else {
                                bad += 1;
                                println!("WRONG {name} / {}: got {r:?}", test["description"]);
                            }
                        }
                    }
                }
            }
        }
    }
    println!("good {good} bad {bad} refused {refused}");
}
