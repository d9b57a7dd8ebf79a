package main

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// specChanged passes what changes the spec; a deletion raises the generation too, a status does not.
func specChanged() predicate.Predicate { return predicate.GenerationChangedPredicate{} }

// notCreated drops the news of a child that we have just made ourselves.
func notCreated() predicate.Predicate {
	return predicate.Funcs{CreateFunc: func(event.CreateEvent) bool { return false }}
}

// ownedSpecChanged passes drift and deletion of a child that has a generation.
func ownedSpecChanged() predicate.Predicate {
	drift := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{})
	return predicate.And(notCreated(), drift)
}

// contentChanged passes any change of a child that has neither a generation nor a status that is written.
func contentChanged() predicate.Predicate {
	return predicate.And(notCreated(), predicate.ResourceVersionChangedPredicate{})
}

// deploymentMatters passes drift, and of the status only what an Application's status says.
func deploymentMatters() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(update event.UpdateEvent) bool {
			before, isDeployment := update.ObjectOld.(*appsv1.Deployment)
			after, isAlsoOne := update.ObjectNew.(*appsv1.Deployment)
			if !isDeployment || !isAlsoOne {
				return false
			}
			return before.Generation != after.Generation ||
				!equality.Semantic.DeepEqual(before.Labels, after.Labels) ||
				seenOf(before) != seenOf(after)
		},
	}
}
