// Command controlplane is the real Kubernetes beside which policyd is tested: an API server with
// etcd, kube-scheduler, and an oracle that says where kube-scheduler would place a pod.
//
// Under the name of a program of Kubernetes or of etcd (by a link, say) it is that program.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/etcdmain"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"policyd/tests/controlplane/oracle"
)

const usage = `usage: controlplane COMMAND

  up         run etcd and kube-apiserver until SIGTERM or the end of standard input
  scheduler  run kube-scheduler against a kubeconfig
  oracle     answer scenarios from standard input, one JSON object a line

controlplane COMMAND -h lists the flags.
`

func main() {
	if err := runAs(filepath.Base(os.Args[0])); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
		os.Exit(1)
	}
}

func runAs(program string) error {
	switch program {
	case "etcd":
		etcdmain.Main(os.Args)
		return nil
	case "kube-apiserver":
		return apiserver.NewAPIServerCommand().Execute()
	case "kube-scheduler":
		return scheduler.NewSchedulerCommand().Execute()
	default:
		return run(os.Args[1:])
	}
}

func run(arguments []string) error {
	if len(arguments) == 0 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	switch arguments[0] {
	case "up":
		return up(arguments[1:])
	case "scheduler":
		return schedule(arguments[1:])
	case "oracle":
		return oracle.Answer(os.Stdin, os.Stdout)
	default:
		return fmt.Errorf("no command %s\n\n%s", arguments[0], usage)
	}
}
