package main

import (
	"context"

	"github.com/spf13/cobra"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// kubeletCommand stands apart since its constructor differs between releases.
func kubeletCommand() *cobra.Command {
	return kubelet.NewKubeletCommand(context.Background())
}
