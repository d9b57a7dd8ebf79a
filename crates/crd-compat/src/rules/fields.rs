//! Rules about fields: which there are, of which type, and whether they must be there.

use super::{Example, Rule};
use crate::finding::Severity;

pub(super) static RULES: &[&Rule] = &[
    &FIELD_ADDED,
    &FIELD_REMOVED,
    &OPEN_FIELD_CONSTRAINED,
    &FIELDS_BECAME_MAP,
    &MAP_BECAME_FIELDS,
    &MAP_VALUES_ADDED,
    &MAP_VALUES_REMOVED,
    &PRESERVE_UNKNOWN_FIELDS_ADDED,
    &PRESERVE_UNKNOWN_FIELDS_REMOVED,
    &EMBEDDED_RESOURCE_ADDED,
    &EMBEDDED_RESOURCE_REMOVED,
    &REQUIRED_ADDED,
    &REQUIRED_WITH_DEFAULT,
    &REQUIRED_REMOVED,
    &TYPE_CHANGED,
    &TYPE_WIDENED,
    &NULLABLE_ADDED,
    &NULLABLE_REMOVED,
    &DEFAULT_ADDED,
    &DEFAULT_CHANGED,
    &DEFAULT_REMOVED,
    &DESCRIPTION_CHANGED,
    &MISPLACED_SIZE_FLOOR,
    &SCHEMA_TOO_DEEP,
];

pub(crate) static FIELD_ADDED: Rule = Rule {
    id: "field-added",
    title: "A field is new",
    meaning: "The schema names one more field.",
    matters: "Objects without it are as good as before. Going back drops it from objects that use it.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Spec { old: "properties: {}", new: "properties:\n  size: {type: integer}" },
};

pub(crate) static FIELD_REMOVED: Rule = Rule {
    id: "field-removed",
    title: "A field is gone",
    meaning: "The schema no longer names a field, so the API server prunes it.",
    matters: "The value is silently dropped: from what readers see at once, from etcd at the next write, whoever writes.",
    remedy: "Keep the field, marked deprecated in its description, until no object uses it.",
    severity: Severity::Breaking,
    example: Example::Spec { old: "properties:\n  size: {type: integer}", new: "properties: {}" },
};

pub(crate) static OPEN_FIELD_CONSTRAINED: Rule = Rule {
    id: "open-field-constrained",
    title: "A field that could hold anything is described now",
    meaning: "The old schema kept whatever was written under this name; the new one says what it must be.",
    matters: "Objects that hold something else there are refused.",
    remedy: "Describe the field as loosely as it is used, or leave it open.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "x-kubernetes-preserve-unknown-fields: true",
        new: "x-kubernetes-preserve-unknown-fields: true\nproperties:\n  size: {type: integer}",
    },
};

pub(crate) static FIELDS_BECAME_MAP: Rule = Rule {
    id: "fields-became-map",
    title: "Named fields became a map",
    meaning: "The schema described fields by name and now describes every value alike.",
    matters: "What was written stays, if it fits the map's values; typed clients no longer find their fields.",
    remedy: "Release the clients that read a map first.",
    severity: Severity::Risky,
    example: Example::Spec {
        old: "properties:\n  limits:\n    type: object\n    properties: {cpu: {type: string}}",
        new: "properties:\n  limits:\n    type: object\n    additionalProperties: {type: string}",
    },
};

pub(crate) static MAP_BECAME_FIELDS: Rule = Rule {
    id: "map-became-fields",
    title: "A map became named fields",
    meaning: "The schema described every value alike and now names the fields it keeps.",
    matters: "Whatever is written under another name is silently dropped.",
    remedy: "Keep the map, and check the names it may hold with a rule.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  limits:\n    type: object\n    additionalProperties: {type: string}",
        new: "properties:\n  limits:\n    type: object\n    properties: {cpu: {type: string}}",
    },
};

pub(crate) static MAP_VALUES_ADDED: Rule = Rule {
    id: "map-values-added",
    title: "An object became a map",
    meaning: "The schema now keeps values under any name.",
    matters: "Objects written before are as good as ever. Going back drops the values.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Spec {
        old: "properties:\n  labels: {type: object}",
        new: "properties:\n  labels: {type: object, additionalProperties: {type: string}}",
    },
};

pub(crate) static MAP_VALUES_REMOVED: Rule = Rule {
    id: "map-values-removed",
    title: "A map keeps nothing any more",
    meaning: "The schema no longer describes the values of a map, so the API server prunes them all.",
    matters: "Every entry is silently dropped.",
    remedy: "Keep `additionalProperties`.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  labels: {type: object, additionalProperties: {type: string}}",
        new: "properties:\n  labels: {type: object}",
    },
};

pub(crate) static PRESERVE_UNKNOWN_FIELDS_ADDED: Rule = Rule {
    id: "preserve-unknown-fields-added",
    title: "Unknown fields are kept here now",
    meaning: "Fields the schema does not name are stored instead of dropped.",
    matters: "Objects written before are as good as ever. Going back drops what was stored meanwhile.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Spec {
        old: "properties:\n  extra: {type: object}",
        new: "properties:\n  extra: {type: object, x-kubernetes-preserve-unknown-fields: true}",
    },
};

pub(crate) static PRESERVE_UNKNOWN_FIELDS_REMOVED: Rule = Rule {
    id: "preserve-unknown-fields-removed",
    title: "Unknown fields are no longer kept here",
    meaning: "Fields the schema does not name are dropped instead of stored.",
    matters: "Data outside the schema is silently lost at the next write.",
    remedy: "Describe every field that is in use before removing the keyword.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  extra: {type: object, x-kubernetes-preserve-unknown-fields: true}",
        new: "properties:\n  extra: {type: object}",
    },
};

pub(crate) static EMBEDDED_RESOURCE_ADDED: Rule = Rule {
    id: "embedded-resource-added",
    title: "A value must be a whole Kubernetes object now",
    meaning: "The value is checked as an embedded resource: it needs `apiVersion`, `kind` and valid `metadata`.",
    matters: "A value without them is refused.",
    remedy: "Require these fields for a release before adding the keyword.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  template: {type: object, x-kubernetes-preserve-unknown-fields: true}",
        new: "properties:\n  template: {type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-embedded-resource: true}",
    },
};

pub(crate) static EMBEDDED_RESOURCE_REMOVED: Rule = Rule {
    id: "embedded-resource-removed",
    title: "A value need not be a whole Kubernetes object any more",
    meaning: "`apiVersion`, `kind` and `metadata` of the value are no longer checked, and no longer kept unless the schema names them.",
    matters: "A reader that relies on them may find them missing.",
    remedy: "Name `apiVersion`, `kind` and `metadata` in the schema, or keep the keyword.",
    severity: Severity::Risky,
    example: Example::Spec {
        old: "properties:\n  template: {type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-embedded-resource: true}",
        new: "properties:\n  template: {type: object, x-kubernetes-preserve-unknown-fields: true}",
    },
};

pub(crate) static REQUIRED_ADDED: Rule = Rule {
    id: "required-added",
    title: "A field is required now",
    meaning: "An object without the field was accepted and is refused now.",
    matters: "Creating such an object fails, and so does updating anything beside the missing field.",
    remedy: "Give it a default, or keep it optional for one release.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  size: {type: integer}",
        new: "properties:\n  size: {type: integer}\nrequired: [size]",
    },
};

pub(crate) static REQUIRED_WITH_DEFAULT: Rule = Rule {
    id: "required-with-default",
    title: "A field that has a default is required now",
    meaning: "Manifests could leave the field out. An API server still takes those and fills the default in, but the schema says that they are incomplete.",
    matters: "Whatever checks manifests by the schema alone, such as kubeconform, editors and pipelines, fills in no defaults and refuses them; generated clients make the field mandatory.",
    remedy: "Leave it optional: with a default it is always there. Where nothing but API servers reads the schema, lower this finding by policy.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  mode: {type: string, default: Managed}",
        new: "properties:\n  mode: {type: string, default: Managed}\nrequired: [mode]",
    },
};

pub(crate) static REQUIRED_REMOVED: Rule = Rule {
    id: "required-removed",
    title: "A field is optional now",
    meaning: "The field may be missing.",
    matters: "Objects written before are as good as ever. In status it is `risky`: readers that rely on the field may not find it.",
    remedy: "Release readers that cope without the field first.",
    severity: Severity::Safe,
    example: Example::Spec {
        old: "properties:\n  size: {type: integer}\nrequired: [size]",
        new: "properties:\n  size: {type: integer}",
    },
};

pub(crate) static TYPE_CHANGED: Rule = Rule {
    id: "type-changed",
    title: "The type changed",
    meaning: "Values of the old type are refused.",
    matters: "Every object that uses the field has to be rewritten, and no object can serve both definitions.",
    remedy: "Add a field of the new type beside the old one, or publish a new version with a conversion.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  size: {type: string}",
        new: "properties:\n  size: {type: integer}",
    },
};

pub(crate) static TYPE_WIDENED: Rule = Rule {
    id: "type-widened",
    title: "The type allows more",
    meaning: "Every value of the old type is still accepted, and so are others.",
    matters: "A client or controller that decodes the old type fails on the others.",
    remedy: "Release readers that understand the wider type first.",
    severity: Severity::Risky,
    example: Example::Spec {
        old: "properties:\n  size: {type: integer}",
        new: "properties:\n  size: {type: number}",
    },
};

pub(crate) static NULLABLE_ADDED: Rule = Rule {
    id: "nullable-added",
    title: "Null is allowed now",
    meaning: "The field may hold an explicit null.",
    matters: "Objects written before are as good as ever. In status it is `risky`: readers may not expect a null.",
    remedy: "Release readers that cope with null first.",
    severity: Severity::Safe,
    example: Example::Spec {
        old: "properties:\n  size: {type: integer}",
        new: "properties:\n  size: {type: integer, nullable: true}",
    },
};

pub(crate) static NULLABLE_REMOVED: Rule = Rule {
    id: "nullable-removed",
    title: "Null is no longer allowed",
    meaning: "An explicit null in an optional field is dropped, or replaced by the default; where the value must be there, it is refused.",
    matters: "Whoever used null to say \"none\" now says nothing, or gets the default.",
    remedy: "Keep `nullable`, or make sure nobody writes null.",
    severity: Severity::Risky,
    example: Example::Spec {
        old: "properties:\n  size: {type: integer, nullable: true}",
        new: "properties:\n  size: {type: integer}",
    },
};

pub(crate) static DEFAULT_ADDED: Rule = Rule {
    id: "default-added",
    title: "An existing field has a default now",
    meaning: "Objects without the field are read, and from their next write stored, with the default.",
    matters: "What used to mean \"not set\" now means the default, for objects that already exist too.",
    remedy: "Choose the default that does what an unset field did.",
    severity: Severity::Risky,
    example: Example::Spec {
        old: "properties:\n  size: {type: integer}",
        new: "properties:\n  size: {type: integer, default: 3}",
    },
};

pub(crate) static DEFAULT_CHANGED: Rule = Rule {
    id: "default-changed",
    title: "The default changed",
    meaning: "Objects created from now on get another value; objects that exist keep the one they were given.",
    matters: "The same manifest means different things before and after.",
    remedy: "Announce it; write the value out where it matters.",
    severity: Severity::Risky,
    example: Example::Spec {
        old: "properties:\n  size: {type: integer, default: 3}",
        new: "properties:\n  size: {type: integer, default: 5}",
    },
};

pub(crate) static DEFAULT_REMOVED: Rule = Rule {
    id: "default-removed",
    title: "The default is gone",
    meaning: "Objects without the field are no longer filled in. Where the field is required, they are refused: then it is `breaking`.",
    matters: "Controllers that rely on the default find nothing.",
    remedy: "Keep the default, or have the controller supply it.",
    severity: Severity::Risky,
    example: Example::Spec {
        old: "properties:\n  size: {type: integer, default: 3}",
        new: "properties:\n  size: {type: integer}",
    },
};

pub(crate) static DESCRIPTION_CHANGED: Rule = Rule {
    id: "description-changed",
    title: "The documentation changed",
    meaning: "A description, title or example reads differently.",
    matters: "Objects are judged as before.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Spec {
        old: "properties:\n  size: {type: integer, description: one}",
        new: "properties:\n  size: {type: integer, description: two}",
    },
};

pub(crate) static MISPLACED_SIZE_FLOOR: Rule = Rule {
    id: "misplaced-size-floor",
    title: "A minimum size is written for the wrong type",
    meaning: "`minLength` on a list, `minItems` on a string and the like have no effect: the API server ignores them.",
    matters: "The author meant to refuse empty values. Once the schema is released without that, correcting it is a breaking change.",
    remedy: "Write `minItems` for lists, `minLength` for strings, `minProperties` for objects, before the schema is released.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties: {}",
        new: "properties:\n  ports: {type: array, minLength: 1, items: {type: integer}}",
    },
};

pub(crate) static SCHEMA_TOO_DEEP: Rule = Rule {
    id: "schema-too-deep",
    title: "A schema is nested too deeply to be compared",
    meaning: "Beyond 200 levels nothing was compared.",
    matters: "What differs further down is not known.",
    remedy: "Flatten the schema, or compare the deep part by hand.",
    severity: Severity::Risky,
    example: Example::Other("A schema of 10,000 nested objects."),
};
