package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "slipway.dev/bench/controller-runtime/api/v1"
)

const finalizer = "cloudnative.elide.dev/finalizer"

// Reconciler brings the children of an Application to what its spec says.
type Reconciler struct {
	client.Client

	Events events.EventRecorder
	Resync time.Duration
}

// SetupWithManager adds the controller to a manager.
func (r *Reconciler) SetupWithManager(managers ctrl.Manager, concurrency int) error {
	return ctrl.NewControllerManagedBy(managers).
		Named("application-controller").
		For(&v1.Application{}, builder.WithPredicates(specChanged())).
		Owns(&appsv1.Deployment{}, builder.WithPredicates(deploymentMatters())).
		Owns(&corev1.ConfigMap{}, builder.WithPredicates(contentChanged())).
		Owns(&corev1.Service{}, builder.WithPredicates(contentChanged())).
		Owns(&policyv1.PodDisruptionBudget{}, builder.WithPredicates(ownedSpecChanged())).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Complete(r)
}

// Reconcile does one pass over an Application.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	app := &v1.Application{}
	if err := r.Get(ctx, request.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !app.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.finalize(ctx, app)
	}
	if err := r.addFinalizer(ctx, app); err != nil {
		return ctrl.Result{}, err
	}
	deployment, err := r.children(ctx, app)
	if err != nil {
		if statusError := r.writeStatus(ctx, app, failedStatus(app, err)); statusError != nil {
			ctrl.LoggerFrom(ctx).Error(statusError, "the failure could not be written into the status")
		}
		return ctrl.Result{}, err
	}
	if err := r.writeStatus(ctx, app, statusOf(app, deployment)); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: r.Resync}, nil
}

// addFinalizer is for an Application that came past the webhook. It goes on in the same pass: a requeue
// would only cost another one.
func (r *Reconciler) addFinalizer(ctx context.Context, app *v1.Application) error {
	if controllerutil.ContainsFinalizer(app, finalizer) {
		return nil
	}
	before := app.DeepCopy()
	controllerutil.AddFinalizer(app, finalizer)
	// A merge patch replaces the whole list, so it must not be based on an old one.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, app, patch); err != nil {
		return fmt.Errorf("adding the finalizer: %w", err)
	}
	return nil
}

// finalize lets the Application go. Its children have it as their owner and follow it.
func (r *Reconciler) finalize(ctx context.Context, app *v1.Application) error {
	before := app.DeepCopy()
	if !controllerutil.RemoveFinalizer(app, finalizer) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, app, patch); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("removing the finalizer: %w", err))
	}
	return nil
}

// children brings every child to what it should be, and gives the Deployment as it is now.
func (r *Reconciler) children(ctx context.Context, app *v1.Application) (*appsv1.Deployment, error) {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: app.Namespace, Name: name}
	}
	config := &corev1.ConfigMap{ObjectMeta: meta(configMapName(app))}
	if len(app.Spec.Config) > 0 {
		if err := r.ensure(ctx, app, config, func() { setConfigMap(app, config) }); err != nil {
			return nil, err
		}
	} else if err := r.remove(ctx, app, config); err != nil {
		return nil, err
	}
	deployment := &appsv1.Deployment{ObjectMeta: meta(app.Name)}
	resources, err := podResources(app)
	if err != nil {
		return nil, err
	}
	if err := r.ensure(ctx, app, deployment, func() { setDeployment(app, deployment, resources) }); err != nil {
		return nil, err
	}
	service := &corev1.Service{ObjectMeta: meta(app.Name)}
	if err := r.ensure(ctx, app, service, func() { setService(app, service) }); err != nil {
		return nil, err
	}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: meta(app.Name)}
	if app.Spec.Replicas > 1 {
		return deployment, r.ensure(ctx, app, budget, func() { setBudget(app, budget) })
	}
	return deployment, r.remove(ctx, app, budget)
}

// ensure creates a child or patches what differs; where nothing does, nothing is sent. The patch
// carries no resource version, so the controllers that write the child's status do not get in its way.
func (r *Reconciler) ensure(ctx context.Context, app *v1.Application, child client.Object, set func()) error {
	kind := fmt.Sprintf("%T", child)
	change := func() error {
		set()
		return controllerutil.SetControllerReference(app, child, r.Scheme())
	}
	err := r.Get(ctx, client.ObjectKeyFromObject(child), child)
	if apierrors.IsNotFound(err) {
		if err := change(); err != nil {
			return err
		}
		if err := r.Create(ctx, child); err != nil {
			return fmt.Errorf("creating %s %s: %w", kind, child.GetName(), err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s %s: %w", kind, child.GetName(), err)
	}
	before := child.DeepCopyObject().(client.Object)
	if err := change(); err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(before, child) {
		return nil
	}
	if err := r.Patch(ctx, child, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("patching %s %s: %w", kind, child.GetName(), err)
	}
	return nil
}

// remove deletes a child that is no longer wanted, if it is there and the Application's.
func (r *Reconciler) remove(ctx context.Context, app *v1.Application, child client.Object) error {
	if err := r.Get(ctx, client.ObjectKeyFromObject(child), child); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !metav1.IsControlledBy(child, app) {
		return nil
	}
	uid := child.GetUID()
	return client.IgnoreNotFound(r.Delete(ctx, child, client.Preconditions{UID: &uid}))
}

// writeStatus sends the status when it is another one.
func (r *Reconciler) writeStatus(ctx context.Context, app *v1.Application, status v1.ApplicationStatus) error {
	if equality.Semantic.DeepEqual(app.Status, status) {
		return nil
	}
	before := app.DeepCopy()
	app.Status = status
	if err := r.Status().Patch(ctx, app, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("writing the status: %w", err))
	}
	r.announce(app, before.Status.Phase)
	return nil
}

// announce tells a turn for the worse and the recovery from it; that all goes well is expected.
func (r *Reconciler) announce(app *v1.Application, before v1.Phase) {
	switch {
	case app.Status.Phase == before:
	case app.Status.Phase == v1.Failed:
		r.Events.Eventf(app, nil, corev1.EventTypeWarning, "Failed", "Reconcile", "The application failed; see its conditions")
	case before == v1.Failed && app.Status.Phase == v1.Running:
		r.Events.Eventf(app, nil, corev1.EventTypeNormal, "Recovered", "Reconcile", "Every pod is ready again")
	}
}
