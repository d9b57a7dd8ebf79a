//! Rules about a definition as a whole.

use super::{Example, Rule};
use crate::finding::Severity;

pub(super) static RULES: &[&Rule] = &[
    &CRD_ADDED,
    &CRD_REMOVED,
    &GROUP_CHANGED,
    &KIND_CHANGED,
    &PLURAL_CHANGED,
    &LIST_KIND_CHANGED,
    &SINGULAR_CHANGED,
    &SHORT_NAME_ADDED,
    &SHORT_NAME_REMOVED,
    &CATEGORY_ADDED,
    &CATEGORY_REMOVED,
    &SCOPE_CHANGED,
    &CRD_METADATA_CHANGED,
    &PRESERVE_UNKNOWN_DISABLED,
    &PRESERVE_UNKNOWN_ENABLED,
    &CONVERSION_WEBHOOK_ADDED,
    &CONVERSION_WEBHOOK_REMOVED,
    &CONVERSION_WEBHOOK_CHANGED,
    &UNRECOGNISED_DIFFERENCE,
    &WAIVER_EXPIRED,
];

pub(crate) static CRD_ADDED: Rule = Rule {
    id: "crd-added",
    title: "A definition is new",
    meaning: "The new set holds a definition the old one does not.",
    matters: "Nobody can have objects of it yet.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Other("`old.yaml` has no `widgets.example.com`, `new.yaml` has."),
};

pub(crate) static CRD_REMOVED: Rule = Rule {
    id: "crd-removed",
    title: "A definition is gone",
    meaning: "The old set holds a definition the new one does not.",
    matters: "Deleting a definition deletes every object of it, at once and for good.",
    remedy: "Keep the definition until nobody has objects of it; mark its versions deprecated first.",
    severity: Severity::Breaking,
    example: Example::Other("`old.yaml` has `widgets.example.com`, `new.yaml` has not."),
};

pub(crate) static GROUP_CHANGED: Rule = Rule {
    id: "group-changed",
    title: "The API group changed",
    meaning: "The two definitions belong to different groups, so they are different APIs.",
    matters: "Existing objects stay behind in the old group, and every client asks for them in vain.",
    remedy: "Publish the new group beside the old one, and move objects over before the old one goes.",
    severity: Severity::Breaking,
    example: Example::Definition {
        old: "metadata: {name: widgets.example.com}\nspec: {group: example.com}",
        new: "metadata: {name: widgets.example.org}\nspec: {group: example.org}",
    },
};

pub(crate) static KIND_CHANGED: Rule = Rule {
    id: "kind-changed",
    title: "The kind changed",
    meaning: "Objects are written under another kind.",
    matters: "Every manifest in Git and every client carries the old kind and is refused.",
    remedy: "Keep the kind; publish a new definition under a new plural if it must be renamed.",
    severity: Severity::Breaking,
    example: Example::Definition {
        old: "spec: {names: {kind: Widget}}",
        new: "spec: {names: {kind: Gadget}}",
    },
};

pub(crate) static PLURAL_CHANGED: Rule = Rule {
    id: "plural-changed",
    title: "The plural name changed",
    meaning: "The resource has another name in URLs and in RBAC rules.",
    matters: "Clients, roles and webhooks that name the old resource no longer find it.",
    remedy: "Keep the plural; publish a new definition and move objects over.",
    severity: Severity::Breaking,
    example: Example::Definition {
        old: "metadata: {name: widgets.example.com}\nspec: {names: {plural: widgets}}",
        new: "metadata: {name: gadgets.example.com}\nspec: {names: {plural: gadgets}}",
    },
};

pub(crate) static LIST_KIND_CHANGED: Rule = Rule {
    id: "list-kind-changed",
    title: "The kind of lists changed",
    meaning: "Lists of objects come back under another kind.",
    matters: "Typed clients that check the kind of a list no longer recognise it.",
    remedy: "Keep the list kind unless no typed client exists.",
    severity: Severity::Risky,
    example: Example::Definition {
        old: "spec: {names: {listKind: WidgetList}}",
        new: "spec: {names: {listKind: Widgets}}",
    },
};

pub(crate) static SINGULAR_CHANGED: Rule = Rule {
    id: "singular-changed",
    title: "The singular name changed",
    meaning: "`kubectl get` takes another singular name.",
    matters: "Scripts that use the old name stop working; clients are not affected.",
    remedy: "Keep the singular name, or tell people.",
    severity: Severity::Risky,
    example: Example::Definition {
        old: "spec: {names: {singular: widget}}",
        new: "spec: {names: {singular: gadget}}",
    },
};

pub(crate) static SHORT_NAME_ADDED: Rule = Rule {
    id: "short-name-added",
    title: "A short name is new",
    meaning: "`kubectl get` takes one more short name.",
    matters: "Nothing that worked stops working.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Definition {
        old: "spec: {names: {shortNames: [wd]}}",
        new: "spec: {names: {shortNames: [wd, wdg]}}",
    },
};

pub(crate) static SHORT_NAME_REMOVED: Rule = Rule {
    id: "short-name-removed",
    title: "A short name is gone",
    meaning: "`kubectl get` no longer takes a short name.",
    matters: "Scripts that use it stop working; clients are not affected.",
    remedy: "Keep the short name, or tell people.",
    severity: Severity::Risky,
    example: Example::Definition {
        old: "spec: {names: {shortNames: [wd, wdg]}}",
        new: "spec: {names: {shortNames: [wd]}}",
    },
};

pub(crate) static CATEGORY_ADDED: Rule = Rule {
    id: "category-added",
    title: "A category is new",
    meaning: "The resource is listed in one more category, such as `kubectl get all`.",
    matters: "Nothing that worked stops working.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Definition {
        old: "spec: {names: {categories: [all]}}",
        new: "spec: {names: {categories: [all, shop]}}",
    },
};

pub(crate) static CATEGORY_REMOVED: Rule = Rule {
    id: "category-removed",
    title: "A category is gone",
    meaning: "The resource is no longer listed in a category, such as `kubectl get all`.",
    matters: "Scripts that list or delete by category pass it over.",
    remedy: "Keep the category, or tell people.",
    severity: Severity::Risky,
    example: Example::Definition {
        old: "spec: {names: {categories: [all, shop]}}",
        new: "spec: {names: {categories: [all]}}",
    },
};

pub(crate) static SCOPE_CHANGED: Rule = Rule {
    id: "scope-changed",
    title: "The scope changed",
    meaning: "Objects move from namespaces to the cluster, or the other way.",
    matters: "The API server refuses the change; the definition can only be deleted with all its objects and made anew.",
    remedy: "Publish a new definition with the other scope, and move objects over.",
    severity: Severity::Breaking,
    example: Example::Definition { old: "spec: {scope: Namespaced}", new: "spec: {scope: Cluster}" },
};

pub(crate) static CRD_METADATA_CHANGED: Rule = Rule {
    id: "crd-metadata-changed",
    title: "Labels or annotations of the definition changed",
    meaning: "The metadata of the definition itself differs, not that of its objects.",
    matters: "Objects and their clients do not see it.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Definition {
        old: "metadata: {labels: {release: one}}",
        new: "metadata: {labels: {release: two}}",
    },
};

pub(crate) static PRESERVE_UNKNOWN_DISABLED: Rule = Rule {
    id: "preserve-unknown-disabled",
    title: "The definition no longer keeps unknown fields",
    meaning: "`spec.preserveUnknownFields` was true and is not any more: fields the schema does not name are dropped.",
    matters: "Data outside the schema is silently lost at the next write.",
    remedy: "Describe every field that is in use before turning it off.",
    severity: Severity::Breaking,
    example: Example::Definition {
        old: "spec: {preserveUnknownFields: true}",
        new: "spec: {preserveUnknownFields: false}",
    },
};

pub(crate) static PRESERVE_UNKNOWN_ENABLED: Rule = Rule {
    id: "preserve-unknown-enabled",
    title: "The definition now keeps unknown fields",
    meaning: "`spec.preserveUnknownFields` is now true: nothing is pruned.",
    matters: "Typing errors are stored instead of dropped, and version v1 of the API accepts the setting only on definitions that already had it.",
    remedy: "Use `x-kubernetes-preserve-unknown-fields` at the place that needs it.",
    severity: Severity::Risky,
    example: Example::Definition {
        old: "spec: {preserveUnknownFields: false}",
        new: "spec: {preserveUnknownFields: true}",
    },
};

pub(crate) static CONVERSION_WEBHOOK_ADDED: Rule = Rule {
    id: "conversion-webhook-added",
    title: "Objects are now converted by a webhook",
    meaning: "The conversion strategy went from `None` to `Webhook`.",
    matters: "Every read and write of another version now needs the webhook: while it is down, they fail.",
    remedy: "Have the webhook running and reachable before the definition is applied.",
    severity: Severity::Risky,
    example: Example::Definition {
        old: "spec: {conversion: {strategy: None}}",
        new: "spec:\n  conversion:\n    strategy: Webhook\n    webhook:\n      conversionReviewVersions: [v1]\n      clientConfig: {service: {namespace: a, name: b, path: /convert}}",
    },
};

pub(crate) static CONVERSION_WEBHOOK_REMOVED: Rule = Rule {
    id: "conversion-webhook-removed",
    title: "Objects are no longer converted",
    meaning: "The conversion strategy went from `Webhook` to `None`: objects change their version and nothing else.",
    matters: "Fields that the webhook used to move or rename are dropped when an object is read in another version.",
    remedy: "Keep the webhook until one version is left, in etcd too.",
    severity: Severity::Breaking,
    example: Example::Definition {
        old: "spec:\n  conversion:\n    strategy: Webhook\n    webhook:\n      conversionReviewVersions: [v1]\n      clientConfig: {service: {namespace: a, name: b, path: /convert}}\n  versions:\n  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}",
        new: "spec:\n  conversion: {strategy: None}\n  versions:\n  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}",
    },
};

pub(crate) static CONVERSION_WEBHOOK_CHANGED: Rule = Rule {
    id: "conversion-webhook-changed",
    title: "The conversion webhook changed",
    meaning: "Where the webhook is, whom it trusts, or which reviews it understands changed.",
    matters: "If the new address does not answer, objects of other versions can be neither read nor written.",
    remedy: "Have the webhook answer at the new address before the definition is applied.",
    severity: Severity::Risky,
    example: Example::Definition {
        old: "spec:\n  conversion:\n    strategy: Webhook\n    webhook:\n      conversionReviewVersions: [v1]\n      clientConfig: {service: {namespace: a, name: b, path: /convert}}",
        new: "spec:\n  conversion:\n    strategy: Webhook\n    webhook:\n      conversionReviewVersions: [v1]\n      clientConfig: {service: {namespace: a, name: c, path: /convert}}",
    },
};

pub(crate) static UNRECOGNISED_DIFFERENCE: Rule = Rule {
    id: "unrecognised-difference",
    title: "Something unknown changed",
    meaning: "A keyword that this release does not know has another value.",
    matters: "What it does cannot be judged here, so nobody should assume that it is harmless.",
    remedy: "Look the keyword up; a newer release of Slipway may know it.",
    severity: Severity::Risky,
    example: Example::Definition { old: "spec: {shiny: one}", new: "spec: {shiny: two}" },
};

pub(crate) static WAIVER_EXPIRED: Rule = Rule {
    id: "waiver-expired",
    title: "A waiver has expired",
    meaning: "The policy holds a waiver whose time is over; it counts for nothing.",
    matters: "The finding it covered counts again.",
    remedy: "Fix the finding, or decide anew until when it is acceptable.",
    severity: Severity::Risky,
    example: Example::Other(
        "A waiver for `field-removed` at `.spec.size` with `expires: 2024-01-01T00:00:00Z`.",
    ),
};
