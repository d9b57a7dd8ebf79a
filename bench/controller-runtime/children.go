package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "slipway.dev/bench/controller-runtime/api/v1"
)

const (
	managedBy        = "elide-operator"
	managedByLabel   = "app.kubernetes.io/managed-by"
	nameLabel        = "app.kubernetes.io/name"
	instanceLabel    = "app.kubernetes.io/instance"
	configAnnotation = "cloudnative.elide.dev/config-hash"
	containerName    = "application"
	portName         = "http"
	portKey          = "PORT"
	defaultPort      = 8080
)

func configMapName(app *v1.Application) string { return app.Name + "-config" }

// childLabels are on every child and choose the pods; a selector can never change, so neither can they.
func childLabels(app *v1.Application) map[string]string {
	return map[string]string{nameLabel: app.Name, instanceLabel: app.Name, managedByLabel: managedBy}
}

// setLabels leaves what others have put beside ours.
func setLabels(object metav1.Object, app *v1.Application) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, childLabels(app))
	object.SetLabels(labels)
}

func port(app *v1.Application) int32 {
	if text, found := app.Spec.Config[portKey]; found {
		if number, err := strconv.ParseUint(text, 10, 16); err == nil && number > 0 {
			return int32(number)
		}
	}
	return defaultPort
}

// configHash changes with the configuration, and with it the pods.
func configHash(app *v1.Application) string {
	hash := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(app.Spec.Config)) {
		fmt.Fprintf(hash, "%d:%s=%d:%s\n", len(key), key, len(app.Spec.Config[key]), app.Spec.Config[key])
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

func setConfigMap(app *v1.Application, config *corev1.ConfigMap) {
	setLabels(config, app)
	config.Data = app.Spec.Config
}

// setDeployment touches the fields that are ours and leaves what the API server fills in.
func setDeployment(app *v1.Application, deployment *appsv1.Deployment, resources corev1.ResourceRequirements) {
	setLabels(deployment, app)
	spec := &deployment.Spec
	spec.Replicas = ptr.To(app.Spec.Replicas)
	if spec.Selector == nil {
		spec.Selector = &metav1.LabelSelector{MatchLabels: childLabels(app)}
	}
	spec.Strategy = strategy(app)
	setLabels(&spec.Template, app)
	if spec.Template.Annotations == nil {
		spec.Template.Annotations = map[string]string{}
	}
	pods := &spec.Template.Spec
	if pods.SecurityContext == nil {
		pods.SecurityContext = &corev1.PodSecurityContext{}
	}
	pods.SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	if len(pods.Containers) != 1 {
		pods.Containers = make([]corev1.Container, 1)
	}
	container := &pods.Containers[0]
	container.Name = containerName
	container.Image = app.Spec.Image
	container.Ports = []corev1.ContainerPort{{Name: portName, ContainerPort: port(app), Protocol: corev1.ProtocolTCP}}
	container.Resources = resources
	if container.SecurityContext == nil {
		container.SecurityContext = &corev1.SecurityContext{}
	}
	container.SecurityContext.AllowPrivilegeEscalation = ptr.To(false)
	if len(app.Spec.Config) == 0 {
		delete(spec.Template.Annotations, configAnnotation)
		container.EnvFrom = nil
		return
	}
	spec.Template.Annotations[configAnnotation] = configHash(app)
	container.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: configMapName(app)},
	}}}
}

func strategy(app *v1.Application) appsv1.DeploymentStrategy {
	if app.Spec.Strategy == v1.Recreate {
		return appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	}
	quarter := intstr.FromString("25%")
	return appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &quarter, MaxUnavailable: &quarter},
	}
}

func setService(app *v1.Application, service *corev1.Service) {
	setLabels(service, app)
	service.Spec.Selector = childLabels(app)
	if len(service.Spec.Ports) != 1 {
		service.Spec.Ports = make([]corev1.ServicePort, 1)
	}
	servicePort := &service.Spec.Ports[0]
	servicePort.Name = portName
	servicePort.Port = 80
	servicePort.Protocol = corev1.ProtocolTCP
	servicePort.TargetPort = intstr.FromString(portName)
}

func setBudget(app *v1.Application, budget *policyv1.PodDisruptionBudget) {
	setLabels(budget, app)
	budget.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(1))
	budget.Spec.MinAvailable = nil
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: childLabels(app)}
	budget.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
}

// podResources reads the amounts; an amount that is none is the user's mistake, and named.
func podResources(app *v1.Application) (corev1.ResourceRequirements, error) {
	var requirements corev1.ResourceRequirements
	if app.Spec.Resources == nil {
		return requirements, nil
	}
	var err error
	if requirements.Requests, err = amounts("requests", app.Spec.Resources.Requests); err != nil {
		return requirements, err
	}
	requirements.Limits, err = amounts("limits", app.Spec.Resources.Limits)
	return requirements, err
}

func amounts(which string, given *v1.ResourceAmounts) (corev1.ResourceList, error) {
	if given == nil {
		return nil, nil
	}
	list := corev1.ResourceList{}
	for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: given.CPU, corev1.ResourceMemory: given.Memory} {
		if text == "" {
			continue
		}
		amount, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("spec.resources.%s.%s: %q is no amount: %w", which, name, text, err)
		}
		list[name] = amount
	}
	return list, nil
}
