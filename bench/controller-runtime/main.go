// The Application operator on controller-runtime, to measure ours beside.
//
// It does what operators/application does, written the way controller-runtime is meant to be used:
// reads from the cache, writes only what differs, and no work for events that say nothing new.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	v1 "slipway.dev/bench/controller-runtime/api/v1"
)

type settings struct {
	metrics, health, webhooks string
	certificates              string
	leaseNamespace            string
	concurrency               int
	resync                    time.Duration
	readYourWrites            bool
}

func main() {
	var given settings
	flag.StringVar(&given.metrics, "metrics-bind-address", "127.0.0.1:8080", "where metrics are served")
	flag.StringVar(&given.health, "health-probe-bind-address", "127.0.0.1:8081", "where /healthz and /readyz are served")
	flag.StringVar(&given.webhooks, "webhook-bind-address", "127.0.0.1:9443", "where webhooks are served")
	flag.StringVar(&given.certificates, "webhook-cert-dir", "", "the directory with tls.crt and tls.key")
	flag.StringVar(&given.leaseNamespace, "leader-election-namespace", "default", "where the Lease is")
	flag.IntVar(&given.concurrency, "max-concurrent-reconciles", 8, "how many Applications are worked on at once")
	flag.DurationVar(&given.resync, "resync", 10*time.Hour, "how often an Application is looked at without an event")
	flag.BoolVar(&given.readYourWrites, "read-your-writes", true, "wait for the cache to show our own writes")
	logging := zap.Options{}
	logging.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logging)))
	if err := run(given); err != nil {
		ctrl.Log.Error(err, "the operator ended")
		os.Exit(1)
	}
}

func run(given settings) error {
	host, port, err := net.SplitHostPort(given.webhooks)
	if err != nil {
		return fmt.Errorf("reading --webhook-bind-address: %w", err)
	}
	webhookPort, err := strconv.Atoi(port)
	if err != nil {
		return fmt.Errorf("reading the port of --webhook-bind-address: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := v1.AddToScheme(scheme); err != nil {
		return err
	}
	// Of the kinds that others make too, only our own are kept.
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{managedByLabel: managedBy})}
	managers, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme: scheme,
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&appsv1.Deployment{}:            ours,
				&corev1.ConfigMap{}:             ours,
				&corev1.Service{}:               ours,
				&policyv1.PodDisruptionBudget{}: ours,
			},
		},
		Client: client.Options{
			Cache: &client.CacheOptions{EnableReadYourWritesConsistency: ptr.To(given.readYourWrites)},
		},
		Metrics:                       server.Options{BindAddress: given.metrics},
		HealthProbeBindAddress:        given.health,
		WebhookServer:                 webhook.NewServer(webhook.Options{Host: host, Port: webhookPort, CertDir: given.certificates}),
		LeaderElection:                true,
		LeaderElectionID:              "application-operator-leader",
		LeaderElectionNamespace:       given.leaseNamespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return fmt.Errorf("making the manager: %w", err)
	}
	reconciler := &Reconciler{
		Client: managers.GetClient(),
		Events: managers.GetEventRecorder("application-controller"),
		Resync: given.resync,
	}
	if err := reconciler.SetupWithManager(managers, given.concurrency); err != nil {
		return fmt.Errorf("adding the controller: %w", err)
	}
	if err := setupWebhooks(managers); err != nil {
		return fmt.Errorf("adding the webhooks: %w", err)
	}
	if err := managers.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := managers.AddReadyzCheck("webhooks", managers.GetWebhookServer().StartedChecker()); err != nil {
		return err
	}
	if err := managers.AddReadyzCheck("caches", cachesSynced(managers)); err != nil {
		return err
	}
	return managers.Start(ctrl.SetupSignalHandler())
}
