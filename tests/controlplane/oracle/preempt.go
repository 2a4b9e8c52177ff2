package oracle

import (
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	frameworkpreemption "k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// preemption is what the default preemption would do for a pod that no node has room for.
type preemption struct {
	Eligible   bool                 `json:"eligible"`
	Why        string               `json:"why,omitempty"`
	Candidates map[string]*eviction `json:"candidates"`
	Chosen     []string             `json:"chosen"`
}

// eviction is what makes room on one node, the most important victim first.
type eviction struct {
	Victims       []string `json:"victims"`
	PDBViolations int64    `json:"pdbViolations"`
}

// preempt adds the preemption to the answer of a scenario that lists disruption budgets. Unlike
// the scheduler, it tries every node that evictions could help and evicts nothing.
func (c *cycle) preempt(result *answer, statuses *framework.NodeToStatus) error {
	if c.asked.Budgets == nil {
		return nil
	}
	plugin, err := defaultpreemption.New(c, everyNode(), c.framework, feature.Features{})
	if err != nil {
		return err
	}
	pod := c.asked.Pod
	nominated := statuses.Get(pod.Status.NominatedNodeName)
	eligible, why := plugin.PodEligibleToPreemptOthers(c, pod, nominated)
	result.Preemption = &preemption{eligible, why, map[string]*eviction{}, []string{}}
	if !eligible {
		return nil
	}
	nodes, err := statuses.NodesForStatusCode(c.snapshot.NodeInfos(), fwk.Unschedulable)
	if err != nil || len(nodes) == 0 {
		return err
	}
	candidates, _, err := plugin.Evaluator.DryRunPreemption(
		c, c.state, pod, nodes, c.asked.Budgets, 0, int32(len(nodes)))
	if err != nil {
		return err
	}
	for _, candidate := range candidates {
		result.Preemption.Candidates[candidate.Name()] = evictionOf(candidate)
	}
	result.Preemption.Chosen = c.choose(plugin.Evaluator, candidates)
	return nil
}

func everyNode() *config.DefaultPreemptionArgs {
	return &config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 100, MinCandidateNodesAbsolute: 1}
}

func evictionOf(candidate frameworkpreemption.Candidate) *eviction {
	victims := []string{}
	for _, pod := range candidate.Victims().Pods {
		victims = append(victims, pod.Namespace+"/"+pod.Name)
	}
	return &eviction{Victims: victims, PDBViolations: candidate.Victims().NumPDBViolations}
}

// draws is how often the choice between two candidates is asked for before it is believed to be no
// tie. The scheduler takes the first of a Go map; either of two comes first at least once in eight
// draws, so that a tie is missed less than once in 10**17.
const draws = 300

// choose gives the candidate that the scheduler picks, and those that it could pick as well.
func (c *cycle) choose(evaluator *frameworkpreemption.Evaluator, candidates []frameworkpreemption.Candidate) []string {
	if len(candidates) == 0 {
		return []string{}
	}
	best := evaluator.SelectCandidate(c, candidates)
	chosen := []string{best.Name()}
	for _, other := range candidates {
		pair := []frameworkpreemption.Candidate{best, other}
		for draw := 0; draw < draws && other.Name() != best.Name(); draw++ {
			if evaluator.SelectCandidate(c, pair).Name() == other.Name() {
				chosen = append(chosen, other.Name())
				break
			}
		}
	}
	return chosen
}
