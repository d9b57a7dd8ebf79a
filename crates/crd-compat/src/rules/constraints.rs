//! Rules about the values a field may hold.

use super::{Example, Rule};
use crate::finding::Severity;

pub(super) static RULES: &[&Rule] = &[
    &MINIMUM_TIGHTENED,
    &MINIMUM_LOOSENED,
    &MAXIMUM_TIGHTENED,
    &MAXIMUM_LOOSENED,
    &MULTIPLE_OF_TIGHTENED,
    &MULTIPLE_OF_LOOSENED,
    &MIN_LENGTH_TIGHTENED,
    &MIN_LENGTH_LOOSENED,
    &MAX_LENGTH_TIGHTENED,
    &MAX_LENGTH_LOOSENED,
    &MIN_ITEMS_TIGHTENED,
    &MIN_ITEMS_LOOSENED,
    &MAX_ITEMS_TIGHTENED,
    &MAX_ITEMS_LOOSENED,
    &MIN_PROPERTIES_TIGHTENED,
    &MIN_PROPERTIES_LOOSENED,
    &MAX_PROPERTIES_TIGHTENED,
    &MAX_PROPERTIES_LOOSENED,
    &ENUM_ADDED,
    &ENUM_LIFTED,
    &ENUM_VALUE_ADDED,
    &ENUM_VALUE_REMOVED,
    &FORMAT_ADDED,
    &FORMAT_CHANGED,
    &FORMAT_REMOVED,
    &PATTERN_ADDED,
    &PATTERN_CHANGED,
    &PATTERN_REMOVED,
    &UNIQUE_ITEMS_ADDED,
    &UNIQUE_ITEMS_REMOVED,
];

pub(crate) static MINIMUM_TIGHTENED: Rule = Rule {
    id: "minimum-tightened",
    title: "The minimum is tighter",
    meaning: "Values between the old limit and the new one were accepted and are refused now.",
    matters: "Creating an object with such a value fails, and so does updating the value.",
    remedy: "Keep the old limit, or check first that no object lies beyond the new one.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  field: {type: integer, minimum: 1}",
        new: "properties:\n  field: {type: integer, minimum: 2}",
    },
};

pub(crate) static MINIMUM_LOOSENED: Rule = Rule {
    id: "minimum-loosened",
    title: "The minimum is looser",
    meaning: "Values beyond the old limit are accepted now.",
    matters: "Objects written before are as good as ever. Going back refuses what was written meanwhile.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Spec {
        old: "properties:\n  field: {type: integer, minimum: 2}",
        new: "properties:\n  field: {type: integer, minimum: 1}",
    },
};

pub(crate) static MAXIMUM_TIGHTENED: Rule = Rule {
    id: "maximum-tightened",
    title: "The maximum is tighter",
    meaning: "Values between the old limit and the new one were accepted and are refused now.",
    matters: "Creating an object with such a value fails, and so does updating the value.",
    remedy: "Keep the old limit, or check first that no object lies beyond the new one.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  field: {type: integer}",
        new: "properties:\n  field: {type: integer, maximum: 10}",
    },
};

pub(crate) static MAXIMUM_LOOSENED: Rule = Rule {
    id: "maximum-loosened",
    title: "The maximum is looser",
    meaning: "Values beyond the old limit are accepted now.",
    matters: "Objects written before are as good as ever. Going back refuses what was written meanwhile.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Spec {
        old: "properties:\n  field: {type: integer, maximum: 10}",
        new: "properties:\n  field: {type: integer}",
    },
};

pub(crate) static MULTIPLE_OF_TIGHTENED: Rule = Rule {
    id: "multiple-of-tightened",
    title: "The step between numbers is tighter",
    meaning: "Values between the old limit and the new one were accepted and are refused now.",
    matters: "Creating an object with such a value fails, and so does updating the value.",
    remedy: "Keep the old limit, or check first that no object lies beyond the new one.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  field: {type: integer}",
        new: "properties:\n  field: {type: integer, multipleOf: 5}",
    },
};

pub(crate) static MULTIPLE_OF_LOOSENED: Rule = Rule {
    id: "multiple-of-loosened",
    title: "The step between numbers is looser",
    meaning: "Values beyond the old limit are accepted now.",
    matters: "Objects written before are as good as ever. Going back refuses what was written meanwhile.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Spec {
        old: "properties:\n  field: {type: integer, multipleOf: 5}",
        new: "properties:\n  field: {type: integer}",
    },
};

pub(crate) static MIN_LENGTH_TIGHTENED: Rule = Rule {
    id: "min-length-tightened",
    title: "The minimum length is tighter",
    meaning: "Values between the old limit and the new one were accepted and are refused now.",
    matters: "Creating an object with such a value fails, and so does updating the value.",
    remedy: "Keep the old limit, or check first that no object lies beyond the new one.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  field: {type: string}",
        new: "properties:\n  field: {type: string, minLength: 3}",
    },
};

pub(crate) static MIN_LENGTH_LOOSENED: Rule = Rule {
    id: "min-length-loosened",
    title: "The minimum length is looser",
    meaning: "Values beyond the old limit are accepted now.",
    matters: "Objects written before are as good as ever. Going back refuses what was written meanwhile.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Spec {
        old: "properties:\n  field: {type: string, minLength: 3}",
        new: "properties:\n  field: {type: string}",
    },
};

pub(crate) static MAX_LENGTH_TIGHTENED: Rule = Rule {
    id: "max-length-tightened",
    title: "The maximum length is tighter",
    meaning: "Values between the old limit and the new one were accepted and are refused now.",
    matters: "Creating an object with such a value fails, and so does updating the value.",
    remedy: "Keep the old limit, or check first that no object lies beyond the new one.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  field: {type: string, maxLength: 20}",
        new: "properties:\n  field: {type: string, maxLength: 10}",
    },
};

pub(crate) static MAX_LENGTH_LOOSENED: Rule = Rule {
    id: "max-length-loosened",
    title: "The maximum length is looser",
    meaning: "Values beyond the old limit are accepted now.",
    matters: "Objects written before are as good as ever. Going back refuses what was written meanwhile.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Spec {
        old: "properties:\n  field: {type: string, maxLength: 10}",
        new: "properties:\n  field: {type: string, maxLength: 20}",
    },
};

pub(crate) static MIN_ITEMS_TIGHTENED: Rule = Rule {
    id: "min-items-tightened",
    title: "The minimum number of items is tighter",
    meaning: "Values between the old limit and the new one were accepted and are refused now.",
    matters: "Creating an object with such a value fails, and so does updating the value.",
    remedy: "Keep the old limit, or check first that no object lies beyond the new one.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  field: {type: array, items: {type: string}}",
        new: "properties:\n  field: {type: array, items: {type: string}, minItems: 1}",
    },
};

pub(crate) static MIN_ITEMS_LOOSENED: Rule = Rule {
    id: "min-items-loosened",
    title: "The minimum number of items is looser",
    meaning: "Values beyond the old limit are accepted now.",
    matters: "Objects written before are as good as ever. Going back refuses what was written meanwhile.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Spec {
        old: "properties:\n  field: {type: array, items: {type: string}, minItems: 1}",
        new: "properties:\n  field: {type: array, items: {type: string}}",
    },
};

pub(crate) static MAX_ITEMS_TIGHTENED: Rule = Rule {
    id: "max-items-tightened",
    title: "The maximum number of items is tighter",
    meaning: "Values between the old limit and the new one were accepted and are refused now.",
    matters: "Creating an object with such a value fails, and so does updating the value.",
    remedy: "Keep the old limit, or check first that no object lies beyond the new one.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  field: {type: array, items: {type: string}}",
        new: "properties:\n  field: {type: array, items: {type: string}, maxItems: 3}",
    },
};

pub(crate) static MAX_ITEMS_LOOSENED: Rule = Rule {
    id: "max-items-loosened",
    title: "The maximum number of items is looser",
    meaning: "Values beyond the old limit are accepted now.",
    matters: "Objects written before are as good as ever. Going back refuses what was written meanwhile.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Spec {
        old: "properties:\n  field: {type: array, items: {type: string}, maxItems: 3}",
        new: "properties:\n  field: {type: array, items: {type: string}}",
    },
};

pub(crate) static MIN_PROPERTIES_TIGHTENED: Rule = Rule {
    id: "min-properties-tightened",
    title: "The minimum number of fields is tighter",
    meaning: "Values between the old limit and the new one were accepted and are refused now.",
    matters: "Creating an object with such a value fails, and so does updating the value.",
    remedy: "Keep the old limit, or check first that no object lies beyond the new one.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  field: {type: object, additionalProperties: {type: string}}",
        new: "properties:\n  field: {type: object, additionalProperties: {type: string}, minProperties: 1}",
    },
};

pub(crate) static MIN_PROPERTIES_LOOSENED: Rule = Rule {
    id: "min-properties-loosened",
    title: "The minimum number of fields is looser",
    meaning: "Values beyond the old limit are accepted now.",
    matters: "Objects written before are as good as ever. Going back refuses what was written meanwhile.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Spec {
        old: "properties:\n  field: {type: object, additionalProperties: {type: string}, minProperties: 1}",
        new: "properties:\n  field: {type: object, additionalProperties: {type: string}}",
    },
};

pub(crate) static MAX_PROPERTIES_TIGHTENED: Rule = Rule {
    id: "max-properties-tightened",
    title: "The maximum number of fields is tighter",
    meaning: "Values between the old limit and the new one were accepted and are refused now.",
    matters: "Creating an object with such a value fails, and so does updating the value.",
    remedy: "Keep the old limit, or check first that no object lies beyond the new one.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  field: {type: object, additionalProperties: {type: string}}",
        new: "properties:\n  field: {type: object, additionalProperties: {type: string}, maxProperties: 3}",
    },
};

pub(crate) static MAX_PROPERTIES_LOOSENED: Rule = Rule {
    id: "max-properties-loosened",
    title: "The maximum number of fields is looser",
    meaning: "Values beyond the old limit are accepted now.",
    matters: "Objects written before are as good as ever. Going back refuses what was written meanwhile.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Spec {
        old: "properties:\n  field: {type: object, additionalProperties: {type: string}, maxProperties: 3}",
        new: "properties:\n  field: {type: object, additionalProperties: {type: string}}",
    },
};

pub(crate) static ENUM_ADDED: Rule = Rule {
    id: "enum-added",
    title: "Only listed values are allowed now",
    meaning: "The field took any value and now takes those of a list.",
    matters: "Objects with another value are refused.",
    remedy: "List every value that is in use.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  field: {type: string}",
        new: "properties:\n  field: {type: string, enum: [a, b]}",
    },
};

pub(crate) static ENUM_LIFTED: Rule = Rule {
    id: "enum-lifted",
    title: "More than the listed values are allowed now",
    meaning: "The field took the values of a list and now takes any.",
    matters: "Controllers and readers that know only the listed values meet others.",
    remedy: "Release readers that cope with unknown values first.",
    severity: Severity::Risky,
    example: Example::Spec {
        old: "properties:\n  field: {type: string, enum: [a, b]}",
        new: "properties:\n  field: {type: string}",
    },
};

pub(crate) static ENUM_VALUE_ADDED: Rule = Rule {
    id: "enum-value-added",
    title: "One more value is allowed",
    meaning: "The list of allowed values grew.",
    matters: "Controllers and readers of before do not know the new value.",
    remedy: "Release readers that understand the value first.",
    severity: Severity::Risky,
    example: Example::Spec {
        old: "properties:\n  field: {type: string, enum: [a, b]}",
        new: "properties:\n  field: {type: string, enum: [a, b, c]}",
    },
};

pub(crate) static ENUM_VALUE_REMOVED: Rule = Rule {
    id: "enum-value-removed",
    title: "A value is no longer allowed",
    meaning: "The list of allowed values shrank.",
    matters: "Objects with that value are refused.",
    remedy: "Accept the value one release longer.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  field: {type: string, enum: [a, b]}",
        new: "properties:\n  field: {type: string, enum: [a]}",
    },
};

pub(crate) static FORMAT_ADDED: Rule = Rule {
    id: "format-added",
    title: "Values must have a format now",
    meaning: "The API server checks a format that it did not check before.",
    matters: "Objects whose value has another form are refused.",
    remedy: "Leave the format out, or check first that every value has it.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  field: {type: string}",
        new: "properties:\n  field: {type: string, format: ipv4}",
    },
};

pub(crate) static FORMAT_CHANGED: Rule = Rule {
    id: "format-changed",
    title: "Values must have another format",
    meaning: "The API server checks another format than before.",
    matters: "Objects whose value has the old form only are refused.",
    remedy: "Keep the format, or leave it out.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  field: {type: string, format: ipv4}",
        new: "properties:\n  field: {type: string, format: ipv6}",
    },
};

pub(crate) static FORMAT_REMOVED: Rule = Rule {
    id: "format-removed",
    title: "The format is no longer checked",
    meaning: "Values of any form are accepted.",
    matters: "Objects written before are as good as ever. Going back refuses what was written meanwhile.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Spec {
        old: "properties:\n  field: {type: string, format: ipv4}",
        new: "properties:\n  field: {type: string}",
    },
};

pub(crate) static PATTERN_ADDED: Rule = Rule {
    id: "pattern-added",
    title: "Values must match a pattern now",
    meaning: "The field took any text and now takes what matches.",
    matters: "Objects whose value does not match are refused.",
    remedy: "Choose a pattern that every value in use matches.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  field: {type: string}",
        new: "properties:\n  field: {type: string, pattern: \"^[a-z]+$\"}",
    },
};

pub(crate) static PATTERN_CHANGED: Rule = Rule {
    id: "pattern-changed",
    title: "Values must match another pattern",
    meaning: "The pattern changed. Where every text that matched the old one matches the new one, it is `safe`.",
    matters: "Objects whose value matches only the old pattern are refused.",
    remedy: "Choose a pattern that matches everything the old one did.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  field: {type: string, pattern: \"^[a-z]+$\"}",
        new: "properties:\n  field: {type: string, pattern: \"^[A-Z]+$\"}",
    },
};

pub(crate) static PATTERN_REMOVED: Rule = Rule {
    id: "pattern-removed",
    title: "Values need not match a pattern any more",
    meaning: "Any text is accepted.",
    matters: "Objects written before are as good as ever. Going back refuses what was written meanwhile.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Spec {
        old: "properties:\n  field: {type: string, pattern: \"^[a-z]+$\"}",
        new: "properties:\n  field: {type: string}",
    },
};

pub(crate) static UNIQUE_ITEMS_ADDED: Rule = Rule {
    id: "unique-items-added",
    title: "Items must differ now",
    meaning: "A list with two equal items was accepted and is refused now.",
    matters: "Objects with such a list are refused.",
    remedy: "Have the controller cope with duplicates instead.",
    severity: Severity::Breaking,
    example: Example::Spec {
        old: "properties:\n  field: {type: array, items: {type: string}}",
        new: "properties:\n  field: {type: array, uniqueItems: true, items: {type: string}}",
    },
};

pub(crate) static UNIQUE_ITEMS_REMOVED: Rule = Rule {
    id: "unique-items-removed",
    title: "Items need not differ any more",
    meaning: "A list may hold an item twice.",
    matters: "Objects written before are as good as ever. Going back refuses what was written meanwhile.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Spec {
        old: "properties:\n  field: {type: array, uniqueItems: true, items: {type: string}}",
        new: "properties:\n  field: {type: array, items: {type: string}}",
    },
};
