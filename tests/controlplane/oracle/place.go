package oracle

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// cycle is one scheduling cycle: a scenario, the framework over its objects, and their state.
type cycle struct {
	context.Context
	asked     *scenario
	framework framework.Framework
	snapshot  *internalcache.Snapshot
	state     fwk.CycleState
}

func (s *scheduler) place(asked *scenario) (*answer, error) {
	if asked.Pod == nil {
		return nil, errors.New("the scenario has no pod")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	snapshot := internalcache.NewSnapshot(placed(asked), asked.Nodes)
	made, err := s.framework(ctx, asked, snapshot)
	if err != nil {
		return nil, err
	}
	return (&cycle{ctx, asked, made, snapshot, framework.NewCycleState()}).run()
}

// placed gives the pods that the scheduler's cache counts: on a node it knows, and not finished.
func placed(asked *scenario) []*v1.Pod {
	known := map[string]bool{}
	for _, node := range asked.Nodes {
		known[node.Name] = true
	}
	pods := []*v1.Pod{}
	for _, pod := range asked.Pods {
		finished := pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
		if known[pod.Spec.NodeName] && !finished {
			pods = append(pods, pod)
		}
	}
	return pods
}

func (c *cycle) run() (*answer, error) {
	result := &answer{ID: c.asked.ID, Nodes: map[string]*verdict{}}
	statuses := framework.NewDefaultNodeToStatus()
	allowed, status, _ := c.framework.RunPreFilterPlugins(c, c.state, c.asked.Pod)
	if !status.IsSuccess() {
		if !status.IsRejected() {
			return nil, status.AsError()
		}
		statuses.SetAbsentNodesStatus(status)
		result.PreFilter = rejection(status)
		return result, c.preempt(result, statuses)
	}
	feasible, err := c.filter(result, allowed, statuses)
	if err != nil {
		return nil, err
	}
	if len(feasible) == 0 {
		return result, c.preempt(result, statuses)
	}
	return result, c.score(result, feasible)
}

// filter gives every node its verdict, and the nodes that no plugin rejects.
func (c *cycle) filter(result *answer, allowed *fwk.PreFilterResult, statuses *framework.NodeToStatus) ([]fwk.NodeInfo, error) {
	nodes, err := c.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	feasible := []fwk.NodeInfo{}
	for _, node := range nodes {
		name := node.Node().Name
		if !allowed.AllNodes() && !allowed.NodeNames.Has(name) {
			status := fwk.NewStatus(fwk.UnschedulableAndUnresolvable)
			result.Nodes[name] = rejection(status.WithPlugin("PreFilterResult"))
			continue
		}
		status := c.framework.RunFilterPluginsWithNominatedPods(c, c.state, c.asked.Pod, node)
		switch {
		case status.IsSuccess():
			feasible = append(feasible, node)
		case status.IsRejected():
			result.Nodes[name] = rejection(status)
			statuses.Set(name, status)
		default:
			return nil, status.AsError()
		}
	}
	return feasible, nil
}

// score gives the feasible nodes their weighted scores, even where there is one alone, which the
// scheduler would take without asking.
func (c *cycle) score(result *answer, feasible []fwk.NodeInfo) error {
	if status := c.framework.RunPreScorePlugins(c, c.state, c.asked.Pod, feasible); !status.IsSuccess() {
		return status.AsError()
	}
	scored, status := c.framework.RunScorePlugins(c, c.state, c.asked.Pod, feasible)
	if !status.IsSuccess() {
		return status.AsError()
	}
	for _, node := range scored {
		scores := map[string]int64{}
		for _, plugin := range node.Scores {
			scores[plugin.Name] = plugin.Score
		}
		result.Nodes[node.Name] = &verdict{Feasible: true, Scores: scores, Total: node.TotalScore}
	}
	return nil
}

func rejection(status *fwk.Status) *verdict {
	return &verdict{Plugin: status.Plugin(), Code: status.Code().String(), Reasons: status.Reasons()}
}
