package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "slipway.dev/bench/controller-runtime/api/v1"
)

const (
	conditionReady       = "Ready"
	conditionProgressing = "Progressing"
)

// seen is the part of a Deployment's status that an Application's is made of.
type seen struct {
	current         bool
	replicas, ready int32
	complete, stuck bool
	stuckMessage    string
}

func seenOf(deployment *appsv1.Deployment) seen {
	status := &deployment.Status
	wanted := int32(1)
	if deployment.Spec.Replicas != nil {
		wanted = *deployment.Spec.Replicas
	}
	current := status.ObservedGeneration >= deployment.Generation
	found := seen{
		current:  current,
		replicas: status.Replicas,
		ready:    status.ReadyReplicas,
		complete: current && status.UpdatedReplicas == wanted && status.Replicas == wanted && status.AvailableReplicas == wanted,
	}
	for _, condition := range status.Conditions {
		if condition.Type == appsv1.DeploymentProgressing && condition.Status == corev1.ConditionFalse {
			found.stuck, found.stuckMessage = true, condition.Message
		}
	}
	return found
}

// statusOf says what the Deployment really reports.
func statusOf(app *v1.Application, deployment *appsv1.Deployment) v1.ApplicationStatus {
	found := seenOf(deployment)
	status := *app.Status.DeepCopy()
	status.ObservedGeneration = app.Generation
	status.Replicas = found.replicas
	status.ReadyReplicas = found.ready
	status.LabelSelector = labels.SelectorFromSet(childLabels(app)).String()
	switch {
	case found.complete:
		status.Phase = v1.Running
		set(&status, app, conditionReady, metav1.ConditionTrue, "ReconciliationSucceeded",
			fmt.Sprintf("%d of %d replicas are ready", found.ready, app.Spec.Replicas))
		set(&status, app, conditionProgressing, metav1.ConditionFalse, "NewReplicaSetAvailable", "the rollout is complete")
	case found.stuck:
		status.Phase = v1.Failed
		set(&status, app, conditionReady, metav1.ConditionFalse, "DeploymentFailed", found.stuckMessage)
		set(&status, app, conditionProgressing, metav1.ConditionFalse, "ProgressDeadlineExceeded", found.stuckMessage)
	default:
		status.Phase = v1.Pending
		set(&status, app, conditionReady, metav1.ConditionFalse, "Progressing", "the rollout is under way")
		set(&status, app, conditionProgressing, metav1.ConditionTrue, "RollingOut", "the rollout is under way")
	}
	return status
}

// failedStatus says that the pass itself failed.
func failedStatus(app *v1.Application, err error) v1.ApplicationStatus {
	status := *app.Status.DeepCopy()
	status.ObservedGeneration = app.Generation
	status.Phase = v1.Failed
	set(&status, app, conditionReady, metav1.ConditionFalse, "ReconciliationFailed", err.Error())
	return status
}

func set(status *v1.ApplicationStatus, app *v1.Application, kind string, value metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: kind, Status: value, Reason: reason, Message: message, ObservedGeneration: app.Generation,
	})
}
