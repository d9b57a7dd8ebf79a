//! Rules about how lists and maps merge, about combined conditions, and about CEL.

use super::{Example, Rule};
use crate::finding::Severity;

pub(super) static RULES: &[&Rule] = &[
    &LIST_TYPE_CHANGED,
    &LIST_MAP_KEYS_CHANGED,
    &MAP_TYPE_CHANGED,
    &CONDITION_ADDED,
    &CONDITION_CHANGED,
    &CONDITION_REMOVED,
    &CEL_RULE_ADDED,
    &CEL_RULE_CHANGED,
    &CEL_RULE_REMOVED,
    &CEL_MESSAGE_CHANGED,
];

pub(crate) static LIST_TYPE_CHANGED: Rule = Rule {
    id: "list-type-changed",
    title: "The list is merged differently",
    meaning: "`x-kubernetes-list-type` changed. As a `set` or `map`, a list may not hold duplicates.",
    matters: "Objects with duplicates are refused. Where that cannot happen it is `risky`: server-side apply merges the list differently.",
    remedy: "Keep the list type; a field with the new type can be added beside it.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  field:\n    type: array\n    items: {type: string}\n",
        new: "properties:\n  field:\n    type: array\n    items: {type: string}\n    x-kubernetes-list-type: set\n",
    },
};

pub(crate) static LIST_MAP_KEYS_CHANGED: Rule = Rule {
    id: "list-map-keys-changed",
    title: "Items are told apart by other keys",
    meaning: "`x-kubernetes-list-map-keys` changed.",
    matters: "Items that differed by the old keys only are duplicates now, and refused.",
    remedy: "Keep the keys that tell items apart.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  field:\n    type: array\n    items: {type: object, required: [a, b], properties: {a: {type: string}, b: {type: string}}}\n    x-kubernetes-list-type: map\n    x-kubernetes-list-map-keys: [a, b]\n",
        new: "properties:\n  field:\n    type: array\n    items: {type: object, required: [a, b], properties: {a: {type: string}, b: {type: string}}}\n    x-kubernetes-list-type: map\n    x-kubernetes-list-map-keys: [a]\n",
    },
};

pub(crate) static MAP_TYPE_CHANGED: Rule = Rule {
    id: "map-type-changed",
    title: "The object is merged differently",
    meaning: "`x-kubernetes-map-type` changed between `granular` and `atomic`.",
    matters: "Server-side apply either replaces the whole object or merges field by field: appliers that shared it now overwrite each other, or no longer do.",
    remedy: "Keep the map type as it is.",
    severity: Severity::Risky,
    example: Example::Spec {
        old: "properties:\n  field: {type: object, additionalProperties: {type: string}}",
        new: "properties:\n  field: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}}",
    },
};

pub(crate) static CONDITION_ADDED: Rule = Rule {
    id: "condition-added",
    title: "One more condition must be met",
    meaning: "An `anyOf`, `oneOf` or `not` is new.",
    matters: "Objects that do not meet it are refused.",
    remedy: "Leave the condition out, or check first that every object meets it.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties: {a: {type: string}, b: {type: string}}\n",
        new: "properties: {a: {type: string}, b: {type: string}}\noneOf: [{required: [a]}, {required: [b]}]\n",
    },
};

pub(crate) static CONDITION_CHANGED: Rule = Rule {
    id: "condition-changed",
    title: "Another condition must be met",
    meaning: "An `anyOf`, `oneOf` or `not` changed. Where everything that met the old one meets the new one, it is `safe`.",
    matters: "Objects that meet only the old condition are refused.",
    remedy: "Widen the condition instead of replacing it.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties: {a: {type: string}, b: {type: string}}\nanyOf: [{required: [a]}, {required: [b]}]\n",
        new: "properties: {a: {type: string}, b: {type: string}}\nanyOf: [{required: [a]}, {maxProperties: 0}]\n",
    },
};

pub(crate) static CONDITION_REMOVED: Rule = Rule {
    id: "condition-removed",
    title: "One condition less must be met",
    meaning: "An `anyOf`, `oneOf` or `not` is gone.",
    matters: "Objects written before are as good as ever. Going back refuses what was written meanwhile.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Spec {
        old: "properties: {a: {type: string}, b: {type: string}}\noneOf: [{required: [a]}, {required: [b]}]\n",
        new: "properties: {a: {type: string}, b: {type: string}}\n",
    },
};

pub(crate) static CEL_RULE_ADDED: Rule = Rule {
    id: "cel-rule-added",
    title: "One more rule must hold",
    meaning: "A CEL rule is new.",
    matters: "Objects for which it does not hold are refused.",
    remedy: "Leave the rule out, or check first that it holds for every object.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties: {a: {type: integer}, b: {type: integer}}\nx-kubernetes-validations:\n- rule: \"true\"",
        new: "properties: {a: {type: integer}, b: {type: integer}}\nx-kubernetes-validations:\n- rule: \"true\"\n- rule: \"!has(self.a) || self.a < 10\"",
    },
};

pub(crate) static CEL_RULE_CHANGED: Rule = Rule {
    id: "cel-rule-changed",
    title: "Another rule must hold",
    meaning: "A CEL rule changed. Where it can be shown that the new one holds whenever the old one did, it is `safe`.",
    matters: "Objects for which only the old rule holds are refused.",
    remedy: "Widen the rule instead of replacing it.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties: {a: {type: integer}, b: {type: integer}}\nx-kubernetes-validations:\n- rule: \"!has(self.a) || self.a < 10\"",
        new: "properties: {a: {type: integer}, b: {type: integer}}\nx-kubernetes-validations:\n- rule: \"!has(self.a) || self.a < 5\"",
    },
};

pub(crate) static CEL_RULE_REMOVED: Rule = Rule {
    id: "cel-rule-removed",
    title: "One rule less must hold",
    meaning: "A CEL rule is gone.",
    matters: "Objects written before are as good as ever. Going back refuses what was written meanwhile.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Spec {
        old: "properties: {a: {type: integer}, b: {type: integer}}\nx-kubernetes-validations:\n- rule: \"!has(self.a) || self.a < 10\"",
        new: "properties: {a: {type: integer}, b: {type: integer}}\n",
    },
};

pub(crate) static CEL_MESSAGE_CHANGED: Rule = Rule {
    id: "cel-message-changed",
    title: "A rule says it differently",
    meaning: "The message, reason or field path of a CEL rule changed, not the rule.",
    matters: "The same objects are refused, in other words.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Spec {
        old: "properties: {a: {type: integer}, b: {type: integer}}\nx-kubernetes-validations:\n- {rule: \"true\", message: one}",
        new: "properties: {a: {type: integer}, b: {type: integer}}\nx-kubernetes-validations:\n- {rule: \"true\", message: two}",
    },
};
