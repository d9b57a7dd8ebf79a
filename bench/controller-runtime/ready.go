package main

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1 "slipway.dev/bench/controller-runtime/api/v1"
)

// cachesSynced is ready once every informer has its first list. Leadership is not readiness: a follower
// fills its caches too, so that it can take over at once.
func cachesSynced(managers ctrl.Manager) healthz.Checker {
	kinds := []client.Object{
		&v1.Application{}, &appsv1.Deployment{}, &corev1.ConfigMap{}, &corev1.Service{}, &policyv1.PodDisruptionBudget{},
	}
	var synced atomic.Bool
	err := managers.Add(everywhere(func(ctx context.Context) error {
		informers, filling := errgroup.WithContext(ctx)
		for _, kind := range kinds {
			informers.Go(func() error {
				_, err := managers.GetCache().GetInformer(filling, kind)
				return err
			})
		}
		if err := informers.Wait(); err != nil {
			return err
		}
		synced.Store(true)
		return nil
	}))
	return func(*http.Request) error {
		if err != nil {
			return err
		}
		if !synced.Load() {
			return errors.New("caches are not filled yet")
		}
		return nil
	}
}

// everywhere runs on followers too.
type everywhere manager.RunnableFunc

// Start runs it.
func (run everywhere) Start(ctx context.Context) error { return run(ctx) }

// NeedLeaderElection says that it does not wait for leadership.
func (everywhere) NeedLeaderElection() bool { return false }
