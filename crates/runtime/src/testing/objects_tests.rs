use super::*;

fn at(path: &str) -> Place {
    Place::of(&format!("/apis/example.com/v1/namespaces/n/boats{path}")).unwrap()
}

fn created(objects: &mut Objects, extra: &Value) -> Value {
    let mut boat = json!({"metadata": {"name": "b"}, "spec": {"hull": "oak"}, "status": {"afloat": true}});
    json_patch::merge(&mut boat, extra);
    objects.create(&at(""), "me", boat).unwrap()
}

fn apply(manager: &str, wanted: Value) -> Change {
    Change::Apply { manager: manager.to_owned(), wanted }
}

#[test]
fn what_is_created_has_what_an_api_server_gives_and_no_status() {
    let mut objects = Objects::default();
    let boat = created(&mut objects, &json!({}));
    assert_eq!(boat["metadata"]["generation"], 1);
    assert_eq!(boat["metadata"]["namespace"], "n");
    assert!(boat["metadata"]["uid"].is_string() && boat["status"].is_null(), "{boat}");
    let again = objects.create(&at(""), "me", boat).unwrap_err();
    assert_eq!((again.code, again.reason), (409, "AlreadyExists"));
    assert_eq!(objects.list(&at(""), "").unwrap()["items"].as_array().unwrap().len(), 1);
}

#[test]
fn versions_and_generations_move_only_when_something_changed() {
    let mut objects = Objects::default();
    let first = created(&mut objects, &json!({}));
    let same = objects.change(&at("/b"), Change::Merge(json!({"spec": {"hull": "oak"}}))).unwrap();
    assert_eq!(same, first);
    let labelled = json!({"metadata": {"labels": {"a": "b"}}});
    let labelled = objects.change(&at("/b"), Change::Merge(labelled)).unwrap();
    assert_eq!(labelled["metadata"]["generation"], 1);
    assert_ne!(labelled["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    let changed = objects.change(&at("/b"), Change::Merge(json!({"spec": {"hull": "elm"}}))).unwrap();
    assert_eq!(changed["metadata"]["generation"], 2);
}

#[test]
fn a_status_is_changed_through_its_own_door_only() {
    let mut objects = Objects::default();
    created(&mut objects, &json!({}));
    let both = json!({"spec": {"hull": "elm"}, "status": {"afloat": false}});
    let status = objects.change(&at("/b/status"), Change::Merge(both.clone())).unwrap();
    assert_eq!((&status["spec"]["hull"], &status["status"]["afloat"]), (&json!("oak"), &json!(false)));
    let both = json!({"spec": {"hull": "elm"}, "status": {"afloat": true}});
    let main = objects.change(&at("/b"), Change::Merge(both)).unwrap();
    assert_eq!((&main["spec"]["hull"], &main["status"]["afloat"]), (&json!("elm"), &json!(false)));
}

#[test]
fn a_change_made_from_something_else_is_refused() {
    let mut objects = Objects::default();
    created(&mut objects, &json!({}));
    for metadata in [json!({"resourceVersion": "99"}), json!({"uid": "another"})] {
        let change = json!({"metadata": metadata, "spec": {"hull": "elm"}});
        for change in [Change::Merge(change.clone()), Change::Replace(change.clone()), apply("me", change)] {
            assert_eq!(objects.change(&at("/b"), change).unwrap_err().code, 409);
        }
        let refused = objects.delete(&at("/b"), &json!({"preconditions": metadata})).unwrap_err();
        assert_eq!(refused.code, 409);
    }
    assert_eq!(objects.get(&at("/b")).unwrap()["spec"]["hull"], "oak");
}

#[test]
fn an_apply_takes_back_what_its_manager_said_before_and_nothing_of_others() {
    let mut objects = Objects::default();
    let named = |data: Value| json!({"metadata": {"name": "b"}, "data": data});
    objects.change(&at("/b"), apply("me", named(json!({"a": "1", "b": "2"})))).unwrap();
    objects.change(&at("/b"), apply("you", named(json!({"c": "3"})))).unwrap();
    let last = objects.change(&at("/b"), apply("me", named(json!({"b": "2"})))).unwrap();
    assert_eq!(last["data"], json!({"b": "2", "c": "3"}));
}

#[test]
fn what_has_a_finalizer_goes_when_the_last_is_taken_off() {
    let mut objects = Objects::default();
    created(&mut objects, &json!({"metadata": {"finalizers": ["x"]}}));
    let going = objects.delete(&at("/b"), &Value::Null).unwrap();
    assert!(going["metadata"]["deletionTimestamp"].is_string());
    objects.change(&at("/b"), Change::Merge(json!({"metadata": {"finalizers": []}}))).unwrap();
    assert_eq!(objects.get(&at("/b")).unwrap_err().code, 404);
    created(&mut objects, &json!({}));
    objects.delete(&at("/b"), &Value::Null).unwrap();
    assert_eq!(objects.get(&at("/b")).unwrap_err().code, 404);
}
