// Package oracle asks the real kube-scheduler framework where a pod could be placed.
//
// It reads scenarios (one JSON object a line), runs the default profile without dynamic resources
// on each, and writes one answer a line: the verdict and the scores of every node and, where the
// scenario lists disruption budgets, what the default preemption would evict.
package oracle

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// scenario is one question. Objects have the API server's defaults filled in.
type scenario struct {
	ID             string                          `json:"id"`
	Nodes          []*v1.Node                      `json:"nodes"`
	Pods           []*v1.Pod                       `json:"pods"`
	Pod            *v1.Pod                         `json:"pod"`
	Namespaces     []*v1.Namespace                 `json:"namespaces"`
	Volumes        []*v1.PersistentVolume          `json:"pvs"`
	Claims         []*v1.PersistentVolumeClaim     `json:"pvcs"`
	StorageClasses []*storagev1.StorageClass       `json:"storageClasses"`
	Budgets        []*policyv1.PodDisruptionBudget `json:"pdbs"`

	CSINodes     []*storagev1.CSINode            `json:"csiNodes"`
	CSIDrivers   []*storagev1.CSIDriver          `json:"csiDrivers"`
	Capacities   []*storagev1.CSIStorageCapacity `json:"csiStorageCapacities"`
	Attachments  []*storagev1.VolumeAttachment   `json:"volumeAttachments"`
	Services     []*v1.Service                   `json:"services"`
	Controllers  []*v1.ReplicationController     `json:"replicationControllers"`
	ReplicaSets  []*appsv1.ReplicaSet            `json:"replicaSets"`
	StatefulSets []*appsv1.StatefulSet           `json:"statefulSets"`
}

// answer is what the scheduler says to a scenario.
type answer struct {
	ID         string              `json:"id"`
	PreFilter  *verdict            `json:"preFilter,omitempty"`
	Nodes      map[string]*verdict `json:"nodes"`
	Preemption *preemption         `json:"preemption,omitempty"`
	Error      string              `json:"error,omitempty"`
}

// verdict is what the scheduler says of one node: the plugin that rejects it, or its scores.
type verdict struct {
	Feasible bool             `json:"feasible"`
	Plugin   string           `json:"plugin,omitempty"`
	Code     string           `json:"code,omitempty"`
	Reasons  []string         `json:"reasons,omitempty"`
	Scores   map[string]int64 `json:"scores,omitempty"`
	Total    int64            `json:"total"`
}

// Answer reads scenarios from in until its end and writes an answer to each, in the same order.
// A scenario that cannot be answered gets an answer with its error, and an error at the end.
func Answer(in io.Reader, out io.Writer) error {
	scheduler, err := newScheduler()
	if err != nil {
		return err
	}
	lines := bufio.NewReader(in)
	answers := bufio.NewWriter(out)
	encoder := json.NewEncoder(answers)
	encoder.SetEscapeHTML(false)
	unanswered := 0
	for {
		line, end := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			answer := scheduler.answer(line)
			if answer.Error != "" {
				unanswered++
			}
			if err := errors.Join(encoder.Encode(answer), answers.Flush()); err != nil {
				return err
			}
		}
		if end == io.EOF {
			break
		}
		if end != nil {
			return end
		}
	}
	if unanswered > 0 {
		return fmt.Errorf("%d scenarios could not be answered: see the error in their answers", unanswered)
	}
	return nil
}

func (s *scheduler) answer(line []byte) *answer {
	question := scenario{}
	if err := json.Unmarshal(line, &question); err != nil {
		return &answer{ID: question.ID, Nodes: map[string]*verdict{}, Error: err.Error()}
	}
	result, err := s.place(&question)
	if err != nil {
		return &answer{ID: question.ID, Nodes: map[string]*verdict{}, Error: err.Error()}
	}
	return result
}
