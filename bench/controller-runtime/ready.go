package main

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// cachesSynced is ready once every informer has its first list. Leadership is not readiness.
func cachesSynced(managers ctrl.Manager) healthz.Checker {
	var synced atomic.Bool
	err := managers.Add(everywhere(func(ctx context.Context) error {
		synced.Store(managers.GetCache().WaitForCacheSync(ctx))
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
