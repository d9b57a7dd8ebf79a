// Package v1 holds the Application kind of cloudnative.elide.dev/v1.
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "cloudnative.elide.dev", Version: "v1"}

// AddToScheme makes the kinds of this package known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Application{}, &ApplicationList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Strategy is how pods are replaced.
type Strategy string

// The strategies.
const (
	RollingUpdate Strategy = "RollingUpdate"
	Recreate      Strategy = "Recreate"
)

// Phase is the state of an Application in one word.
type Phase string

// The phases.
const (
	Pending   Phase = "Pending"
	Running   Phase = "Running"
	Failed    Phase = "Failed"
	Succeeded Phase = "Succeeded"
)

// Application is a program that runs in a number of pods, with its configuration.
type Application struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ApplicationSpec   `json:"spec"`
	Status ApplicationStatus `json:"status,omitempty"`
}

// ApplicationSpec is what is wanted.
type ApplicationSpec struct {
	Replicas  int32             `json:"replicas"`
	Image     string            `json:"image"`
	Strategy  Strategy          `json:"strategy,omitempty"`
	Config    map[string]string `json:"config,omitempty"`
	Resources *Resources        `json:"resources,omitempty"`
}

// Resources is what each pod asks for and may have.
type Resources struct {
	Requests *ResourceAmounts `json:"requests,omitempty"`
	Limits   *ResourceAmounts `json:"limits,omitempty"`
}

// ResourceAmounts is an amount of each resource; an empty one is not set.
type ResourceAmounts struct {
	CPU    string `json:"cpu,omitempty"`
	Memory string `json:"memory,omitempty"`
}

// ApplicationStatus is what was seen.
type ApplicationStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Replicas           int32              `json:"replicas"`
	ReadyReplicas      int32              `json:"readyReplicas"`
	LabelSelector      string             `json:"labelSelector,omitempty"`
	Phase              Phase              `json:"phase,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// ApplicationList is a list of Applications.
type ApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Application `json:"items"`
}
