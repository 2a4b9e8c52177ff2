package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"sigs.k8s.io/yaml"
)

// schedule runs kube-scheduler until SIGTERM or SIGINT, without leader election and with a
// client that its own rate limit does not slow down.
func schedule(arguments []string) error {
	flags := flag.NewFlagSet("scheduler [FLAGS] [-- FLAGS OF kube-scheduler]", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "how to reach the API server (needed)")
	file := flags.String("config", "", "a KubeSchedulerConfiguration; what it sets of leader election and client limits is kept")
	port := flags.Int("port", 0, "port for /metrics, /healthz and /readyz on 127.0.0.1, over TLS; 0 for none")
	_ = flags.Parse(arguments)
	if *kubeconfig == "" {
		return fmt.Errorf("-kubeconfig is needed")
	}
	folder, err := os.MkdirTemp("", "controlplane-scheduler-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	config := filepath.Join(folder, "config.yaml")
	if err := writeSchedulerConfig(config, *file, *kubeconfig); err != nil {
		return err
	}
	command := app.NewSchedulerCommand()
	command.SetArgs(append([]string{
		"--config=" + config,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", *port),
		"--authorization-always-allow-paths=/metrics,/metrics/resources,/healthz,/livez,/readyz",
	}, flags.Args()...))
	return command.Execute()
}

// writeSchedulerConfig writes what is in from (nothing where its name is empty), completed.
func writeSchedulerConfig(to, from, kubeconfig string) error {
	config := map[string]any{
		"apiVersion": "kubescheduler.config.k8s.io/v1",
		"kind":       "KubeSchedulerConfiguration",
	}
	if from != "" {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := yaml.UnmarshalStrict(text, &config); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
	}
	complete(config, "leaderElection", map[string]any{"leaderElect": false})
	complete(config, "clientConnection", map[string]any{"qps": 5000, "burst": 5000})
	config["clientConnection"].(map[string]any)["kubeconfig"] = kubeconfig
	text, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// complete sets those fields of a section that are not set.
func complete(config map[string]any, section string, defaults map[string]any) {
	fields, ok := config[section].(map[string]any)
	if !ok {
		fields = map[string]any{}
		config[section] = fields
	}
	for name, value := range defaults {
		if _, set := fields[name]; !set {
			fields[name] = value
		}
	}
}
