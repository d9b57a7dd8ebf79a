//! Rules about versions, subresources and what is listed.

use super::{Example, Rule};
use crate::finding::Severity;

pub(super) static RULES: &[&Rule] = &[
    &VERSION_ADDED,
    &VERSION_REMOVED,
    &VERSION_UNSERVED,
    &VERSION_SERVED,
    &STORAGE_VERSION_CHANGED,
    &STORED_VERSION_REMOVED,
    &VERSION_DEPRECATED,
    &DEPRECATION_WITHDRAWN,
    &DEPRECATION_WARNING_CHANGED,
    &STATUS_SUBRESOURCE_ADDED,
    &STATUS_SUBRESOURCE_REMOVED,
    &SCALE_SUBRESOURCE_ADDED,
    &SCALE_SUBRESOURCE_REMOVED,
    &SCALE_PATH_CHANGED,
    &PRINTER_COLUMN_ADDED,
    &PRINTER_COLUMN_REMOVED,
    &PRINTER_COLUMN_CHANGED,
    &SELECTABLE_FIELD_ADDED,
    &SELECTABLE_FIELD_REMOVED,
];

pub(crate) static VERSION_ADDED: Rule = Rule {
    id: "version-added",
    title: "A version is new",
    meaning: "The definition has one more version.",
    matters: "Clients of the other versions go on as before.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Definition {
        old: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n",
        new: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n  - name: v2\n    served: true\n    storage: false\n    schema: {openAPIV3Schema: {type: object}}\n",
    },
};

pub(crate) static VERSION_REMOVED: Rule = Rule {
    id: "version-removed",
    title: "A version is gone",
    meaning: "A served version is no longer in the definition.",
    matters: "Every manifest and client that names it is refused.",
    remedy: "Serve the old version one release longer, marked deprecated.",
    severity: Severity::Breaking,
    example: Example::Definition {
        old: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n  - name: v1beta1\n    served: true\n    storage: false\n    schema: {openAPIV3Schema: {type: object}}\n",
        new: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n",
    },
};

pub(crate) static VERSION_UNSERVED: Rule = Rule {
    id: "version-unserved",
    title: "A version is no longer served",
    meaning: "`served` went from true to false.",
    matters: "Every manifest and client that names the version is refused.",
    remedy: "Serve the old version one release longer, marked deprecated.",
    severity: Severity::Breaking,
    example: Example::Definition {
        old: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n  - name: v1beta1\n    served: true\n    storage: false\n    schema: {openAPIV3Schema: {type: object}}\n",
        new: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n  - name: v1beta1\n    served: false\n    storage: false\n    schema: {openAPIV3Schema: {type: object}}\n",
    },
};

pub(crate) static VERSION_SERVED: Rule = Rule {
    id: "version-served",
    title: "A version is now served",
    meaning: "`served` went from false to true.",
    matters: "Clients of the other versions go on as before.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Definition {
        old: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n  - name: v1beta1\n    served: false\n    storage: false\n    schema: {openAPIV3Schema: {type: object}}\n",
        new: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n  - name: v1beta1\n    served: true\n    storage: false\n    schema: {openAPIV3Schema: {type: object}}\n",
    },
};

pub(crate) static STORAGE_VERSION_CHANGED: Rule = Rule {
    id: "storage-version-changed",
    title: "Objects are stored in another version",
    meaning: "From now on, writes are stored in another version; objects already in etcd stay as they are until somebody writes them.",
    matters: "The old version cannot be removed, nor the change taken back, before every object has been rewritten.",
    remedy: "Rewrite every object, then remove the old version from `status.storedVersions`.",
    severity: Severity::Risky,
    example: Example::Definition {
        old: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n  - name: v2\n    served: true\n    storage: false\n    schema: {openAPIV3Schema: {type: object}}\n",
        new: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: false\n    schema: {openAPIV3Schema: {type: object}}\n  - name: v2\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n",
    },
};

pub(crate) static STORED_VERSION_REMOVED: Rule = Rule {
    id: "stored-version-removed",
    title: "A version objects are stored in is gone",
    meaning: "The definition drops a version that `status.storedVersions` still lists.",
    matters: "The API server refuses the definition: it could not read those objects any more.",
    remedy: "Rewrite every object in the storage version, take the old one out of `status.storedVersions`, then remove it.",
    severity: Severity::Breaking,
    example: Example::Definition {
        old: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n  - name: v1beta1\n    served: false\n    storage: false\n    schema: {openAPIV3Schema: {type: object}}\nstatus: {storedVersions: [v1beta1, v1]}",
        new: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n",
    },
};

pub(crate) static VERSION_DEPRECATED: Rule = Rule {
    id: "version-deprecated",
    title: "A version is deprecated",
    meaning: "Clients of this version now get a warning.",
    matters: "The version will go; whoever uses it should move on.",
    remedy: "Move manifests and clients to a version that is not deprecated.",
    severity: Severity::Risky,
    example: Example::Definition {
        old: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n  - name: v1beta1\n    served: true\n    storage: false\n    schema: {openAPIV3Schema: {type: object}}\n",
        new: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n  - name: v1beta1\n    served: true\n    storage: false\n    schema: {openAPIV3Schema: {type: object}}\n    deprecated: true\n",
    },
};

pub(crate) static DEPRECATION_WITHDRAWN: Rule = Rule {
    id: "deprecation-withdrawn",
    title: "A version is no longer deprecated",
    meaning: "Clients of this version no longer get a warning.",
    matters: "Nothing that worked stops working.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Definition {
        old: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n  - name: v1beta1\n    served: true\n    storage: false\n    schema: {openAPIV3Schema: {type: object}}\n    deprecated: true\n",
        new: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n  - name: v1beta1\n    served: true\n    storage: false\n    schema: {openAPIV3Schema: {type: object}}\n",
    },
};

pub(crate) static DEPRECATION_WARNING_CHANGED: Rule = Rule {
    id: "deprecation-warning-changed",
    title: "The deprecation warning reads differently",
    meaning: "Clients of a deprecated version get another warning.",
    matters: "Nothing that worked stops working.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Definition {
        old: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n    deprecated: true\n    deprecationWarning: one\n",
        new: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n    deprecated: true\n    deprecationWarning: two\n",
    },
};

pub(crate) static STATUS_SUBRESOURCE_ADDED: Rule = Rule {
    id: "status-subresource-added",
    title: "Status has its own subresource now",
    meaning: "Status is written through `/status` only; elsewhere it is ignored.",
    matters: "A controller that writes the whole object loses its status without an error.",
    remedy: "Release the controller that writes `/status` before the definition.",
    severity: Severity::Risky,
    example: Example::Definition {
        old: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n",
        new: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n    subresources: {status: {}}\n",
    },
};

pub(crate) static STATUS_SUBRESOURCE_REMOVED: Rule = Rule {
    id: "status-subresource-removed",
    title: "The status subresource is gone",
    meaning: "There is no `/status` any more; whoever may write the object may write its status.",
    matters: "A controller that writes `/status` gets 404 and never reports again.",
    remedy: "Keep the status subresource.",
    severity: Severity::Breaking,
    example: Example::Definition {
        old: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n    subresources: {status: {}}\n",
        new: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n",
    },
};

pub(crate) static SCALE_SUBRESOURCE_ADDED: Rule = Rule {
    id: "scale-subresource-added",
    title: "Objects can now be scaled",
    meaning: "The definition has a scale subresource.",
    matters: "Nothing that worked stops working.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Definition {
        old: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n",
        new: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n    subresources: {scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}\n",
    },
};

pub(crate) static SCALE_SUBRESOURCE_REMOVED: Rule = Rule {
    id: "scale-subresource-removed",
    title: "Objects can no longer be scaled",
    meaning: "The scale subresource is gone.",
    matters: "`kubectl scale` and every HorizontalPodAutoscaler of these objects fail.",
    remedy: "Keep the scale subresource.",
    severity: Severity::Breaking,
    example: Example::Definition {
        old: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n    subresources: {scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}\n",
        new: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n",
    },
};

pub(crate) static SCALE_PATH_CHANGED: Rule = Rule {
    id: "scale-path-changed",
    title: "Scaling looks at another field",
    meaning: "A path of the scale subresource changed.",
    matters: "Autoscalers now read and write another field than the one the object was written with.",
    remedy: "Keep the path, and copy the value if the field must move.",
    severity: Severity::Breaking,
    example: Example::Definition {
        old: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n    subresources: {scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}\n",
        new: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n    subresources: {scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.replicas}}\n",
    },
};

pub(crate) static PRINTER_COLUMN_ADDED: Rule = Rule {
    id: "printer-column-added",
    title: "`kubectl get` shows one more column",
    meaning: "A printer column is new.",
    matters: "Objects and their clients do not see it.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Definition {
        old: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n",
        new: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]\n",
    },
};

pub(crate) static PRINTER_COLUMN_REMOVED: Rule = Rule {
    id: "printer-column-removed",
    title: "`kubectl get` shows one column less",
    meaning: "A printer column is gone.",
    matters: "Scripts that cut columns out of what `kubectl get` prints read the wrong one.",
    remedy: "Read fields with `-o jsonpath` instead of cutting columns.",
    severity: Severity::Risky,
    example: Example::Definition {
        old: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]\n",
        new: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n",
    },
};

pub(crate) static PRINTER_COLUMN_CHANGED: Rule = Rule {
    id: "printer-column-changed",
    title: "`kubectl get` shows a column differently",
    meaning: "A printer column has another path, type, format or priority, or stands in another place.",
    matters: "Scripts that cut columns out of what `kubectl get` prints read something else.",
    remedy: "Read fields with `-o jsonpath` instead of cutting columns.",
    severity: Severity::Risky,
    example: Example::Definition {
        old: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]\n",
        new: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n    additionalPrinterColumns: [{name: Size, type: string, jsonPath: .spec.size}]\n",
    },
};

pub(crate) static SELECTABLE_FIELD_ADDED: Rule = Rule {
    id: "selectable-field-added",
    title: "Objects can be selected by one more field",
    meaning: "A selectable field is new.",
    matters: "Nothing that worked stops working.",
    remedy: "Nothing needs to be done.",
    severity: Severity::Safe,
    example: Example::Definition {
        old: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n",
        new: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n    selectableFields: [{jsonPath: .spec.color}]\n",
    },
};

pub(crate) static SELECTABLE_FIELD_REMOVED: Rule = Rule {
    id: "selectable-field-removed",
    title: "Objects can no longer be selected by a field",
    meaning: "A selectable field is gone.",
    matters: "Whoever lists or watches by that field gets an error: controllers stop seeing their objects.",
    remedy: "Keep the field selectable.",
    severity: Severity::Breaking,
    example: Example::Definition {
        old: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n    selectableFields: [{jsonPath: .spec.color}]\n",
        new: "spec:\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {openAPIV3Schema: {type: object}}\n",
    },
};
