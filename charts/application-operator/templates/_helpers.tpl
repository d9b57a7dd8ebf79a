{{- define "application-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 42 | trimSuffix "-" -}}
{{- end -}}

{{/* Short enough for every suffix that names of Services carry. */}}
{{- define "application-operator.fullname" -}}
{{- $name := include "application-operator.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 42 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 42 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 42 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* What is not in a namespace carries it in its name, so that two releases of one name do not meet. */}}
{{- define "application-operator.clusterName" -}}
{{- printf "%s-%s" .Release.Namespace (include "application-operator.fullname" .) -}}
{{- end -}}

{{- define "application-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "application-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "application-operator.labels" -}}
{{ include "application-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "application-operator.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "application-operator.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is needed when serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "application-operator.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "application-operator.webhookService" -}}
{{- printf "%s-webhook" (include "application-operator.fullname" .) -}}
{{- end -}}

{{/* The Secret of the operator's own authority. */}}
{{- define "application-operator.caSecret" -}}
{{- printf "%s-webhook-ca" (include "application-operator.fullname" .) -}}
{{- end -}}

{{/* The Secret of certificates that something else renews. */}}
{{- define "application-operator.certificateSecret" -}}
{{- if eq .Values.webhooks.certificates.source "files" -}}
{{- required "webhooks.certificates.secretName is needed when the source is files" .Values.webhooks.certificates.secretName -}}
{{- else -}}
{{- printf "%s-webhook-tls" (include "application-operator.fullname" .) -}}
{{- end -}}
{{- end -}}

{{- define "application-operator.leaseNamespace" -}}
{{- default .Release.Namespace .Values.leaderElection.namespace -}}
{{- end -}}

{{/* Lets cert-manager keep the bundle where it issues the certificates. */}}
{{- define "application-operator.injectFrom" -}}
{{- if eq .Values.webhooks.certificates.source "cert-manager" -}}
cert-manager.io/inject-ca-from: {{ printf "%s/%s" .Release.Namespace (include "application-operator.webhookService" .) }}
{{- end -}}
{{- end -}}

{{/* Settings that take effect at the next start; a change of them restarts the pods. */}}
{{- define "application-operator.settings" -}}
adminAddress: 0.0.0.0:3000
webhookAddress: 0.0.0.0:9443
webhooks: {{ .Values.webhooks.enabled }}
leaderElection: {{ .Values.leaderElection.enabled }}
leaseName: {{ .Values.leaderElection.name }}
leaseNamespace: {{ include "application-operator.leaseNamespace" . }}
{{- with .Values.group }}
group: {{ . | quote }}
{{- end }}
{{- if .Values.standby }}
standby: true
{{- end }}
{{- with .Values.watchNamespaces }}
watchNamespaces: {{ toJson . }}
{{- end }}
logFormat: {{ .Values.log.format }}
{{- with .Values.otlpEndpoint }}
otlpEndpoint: {{ . | quote }}
{{- end }}
{{- with .Values.concurrency }}
concurrency: {{ int . }}
{{- end }}
{{- with .Values.resync }}
resync: {{ . }}
{{- end }}
drain: {{ printf "%ds" (max 1 (sub (int .Values.terminationGracePeriodSeconds) 10)) }}
certificates: {{ ternary "self-signed" "files" (eq .Values.webhooks.certificates.source "self-signed") }}
certificateDir: /etc/webhook/certificates
webhookService: {{ include "application-operator.webhookService" . }}
caSecret: {{ include "application-operator.caSecret" . }}
installCrds: {{ .Values.crds.atStart }}
serveEvents: {{ .Values.serveEvents }}
{{- end -}}

{{/* What an operator does in a namespace that it looks after. */}}
{{- define "application-operator.rules" -}}
- apiGroups: [cloudnative.elide.dev]
  resources: [applications]
  verbs: [get, list, watch, patch]
- apiGroups: [cloudnative.elide.dev]
  resources: [applications/status]
  verbs: [patch]
# To own children where OwnerReferencesPermissionEnforcement is on.
- apiGroups: [cloudnative.elide.dev]
  resources: [applications/finalizers]
  verbs: [update]
# These an Application has for as long as it lives, and they go with it.
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list, watch, create, patch]
- apiGroups: [""]
  resources: [services]
  verbs: [get, list, watch, create, patch]
# These it may do without.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}
