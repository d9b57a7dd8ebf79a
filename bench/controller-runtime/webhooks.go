package main

import (
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	v1 "slipway.dev/bench/controller-runtime/api/v1"
)

const mutatedAnnotation = "elide.dev/webhook-mutated"

var (
	allowedRegistries = []string{"docker.io/", "gcr.io/"}
	blockedBases      = []string{"ubuntu", "debian", "alpine"}
)

func setupWebhooks(managers ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(managers, &v1.Application{}).
		WithDefaulter(defaulter{}).
		WithDefaulterCustomPath("/mutate").
		WithValidator(validator{}).
		WithValidatorCustomPath("/validate").
		Complete()
}

type defaulter struct{}

// Default fills in what the user left out, and marks the object. A new one gets its finalizer here, which
// saves the write that would add it later.
func (defaulter) Default(ctx context.Context, app *v1.Application) error {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return err
	}
	if request.Operation == admissionv1.Create {
		controllerutil.AddFinalizer(app, finalizer)
	}
	if app.Spec.Strategy == "" {
		app.Spec.Strategy = v1.RollingUpdate
	}
	if app.Labels == nil {
		app.Labels = map[string]string{}
	}
	app.Labels[managedByLabel] = managedBy
	if app.Annotations == nil {
		app.Annotations = map[string]string{}
	}
	app.Annotations[mutatedAnnotation] = "true"
	return nil
}

type validator struct{}

// ValidateCreate judges a new Application.
func (validator) ValidateCreate(_ context.Context, app *v1.Application) (admission.Warnings, error) {
	return judge(app)
}

// ValidateUpdate judges a changed Application. One that goes must not be held by a newer rule.
func (validator) ValidateUpdate(_ context.Context, _, app *v1.Application) (admission.Warnings, error) {
	if !app.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	return judge(app)
}

// ValidateDelete lets everything go.
func (validator) ValidateDelete(context.Context, *v1.Application) (admission.Warnings, error) {
	return nil, nil
}

func judge(app *v1.Application) (admission.Warnings, error) {
	var warnings admission.Warnings
	var denials field.ErrorList
	spec := field.NewPath("spec")
	if app.Spec.Replicas < 0 || app.Spec.Replicas > 100 {
		denials = append(denials, field.Invalid(spec.Child("replicas"), app.Spec.Replicas,
			"must be from 0 to 100; for more, use a HorizontalPodAutoscaler"))
	}
	image := strings.ToLower(strings.TrimSpace(app.Spec.Image))
	if image == "" {
		denials = append(denials, field.Required(spec.Child("image"), "an image is needed"))
	} else {
		reference := normalize(image)
		if !startsWithAny(reference, allowedRegistries) {
			denials = append(denials, field.Invalid(spec.Child("image"), app.Spec.Image,
				fmt.Sprintf("must come from one of %s", strings.Join(allowedRegistries, ", "))))
		}
		if base := baseName(reference); isBlocked(base) {
			denials = append(denials, field.Invalid(spec.Child("image"), app.Spec.Image,
				fmt.Sprintf("is the bare base image %s", base)))
		}
		if strings.HasSuffix(image, ":latest") {
			warnings = append(warnings, "spec.image: the tag latest changes without notice")
		}
	}
	if app.Spec.Resources == nil || app.Spec.Resources.Limits == nil {
		warnings = append(warnings, "spec.resources.limits: not set, so a pod may take the whole node")
	}
	return warnings, denials.ToAggregate()
}

// normalize gives a reference its registry: nginx is docker.io/library/nginx.
func normalize(image string) string {
	first, rest, found := strings.Cut(image, "/")
	switch {
	case !found:
		return "docker.io/library/" + image
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		return "docker.io/" + first + "/" + rest
	default:
		return image
	}
}

// baseName is the official image that a reference names, without tag and digest, or nothing.
func baseName(reference string) string {
	name, official := strings.CutPrefix(reference, "docker.io/library/")
	if !official {
		return ""
	}
	name, _, _ = strings.Cut(name, "@")
	name, _, _ = strings.Cut(name, ":")
	return name
}

func isBlocked(base string) bool {
	for _, blocked := range blockedBases {
		if base == blocked {
			return true
		}
	}
	return false
}

func startsWithAny(text string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}
