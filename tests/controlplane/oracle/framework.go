package oracle

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"time"
)

// scheduler holds what is the same for every scenario.
type scheduler struct {
	profile  config.KubeSchedulerProfile
	registry frameworkruntime.Registry
}

func newScheduler() (*scheduler, error) {
	metrics.Register()
	// Without the DynamicResources plugin nobody could answer for resources delegated to it.
	if err := utilfeature.DefaultMutableFeatureGate.Set("DRAExtendedResource=false"); err != nil {
		return nil, err
	}
	profile, err := defaultProfile()
	if err != nil {
		return nil, err
	}
	return &scheduler{profile: profile, registry: plugins.NewInTreeRegistry()}, nil
}

// defaultProfile gives the profile that kube-scheduler has without a configuration file, without
// dynamic resources, and with preemption that tries every node instead of a sample.
func defaultProfile() (config.KubeSchedulerProfile, error) {
	versioned := configv1.KubeSchedulerConfiguration{}
	scheme.Scheme.Default(&versioned)
	internal := config.KubeSchedulerConfiguration{}
	if err := scheme.Scheme.Convert(&versioned, &internal, nil); err != nil {
		return config.KubeSchedulerProfile{}, err
	}
	profile := internal.Profiles[0]
	enabled := &profile.Plugins.MultiPoint.Enabled
	kept := (*enabled)[:0]
	for _, plugin := range *enabled {
		if plugin.Name != names.DynamicResources {
			kept = append(kept, plugin)
		}
	}
	*enabled = kept
	return profile, nil
}

// framework makes the scheduling framework over a scenario's objects; it lives as long as ctx.
func (s *scheduler) framework(ctx context.Context, asked *scenario, snapshot *internalcache.Snapshot) (framework.Framework, error) {
	factory := informers.NewSharedInformerFactory(nil, 0)
	fix(factory, asked.Namespaces)
	fix(factory, asked.Volumes)
	fix(factory, asked.Claims)
	fix(factory, asked.StorageClasses)
	fix(factory, asked.CSINodes)
	fix(factory, asked.CSIDrivers)
	fix(factory, asked.Capacities)
	fix(factory, asked.Attachments)
	fix(factory, asked.Services)
	fix(factory, asked.Controllers)
	fix(factory, asked.ReplicaSets)
	fix(factory, asked.StatefulSets)
	made, err := frameworkruntime.NewFramework(ctx, s.registry, &s.profile,
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSnapshotSharedLister(snapshot),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithPodNominator(nominator{}),
	)
	if err != nil {
		return nil, fmt.Errorf("making the framework: %w", err)
	}
	return made, nil
}

// nominator is the nominator of a queue in which nothing is nominated.
type nominator struct{ fwk.PodNominator }

func (nominator) NominatedPodsForNode(string) []fwk.PodInfo { return nil }

// fixed is an informer of a scenario's objects: complete from the start, and never changing.
type fixed struct {
	cache.SharedIndexInformer
}

// AddEventHandler tells the handler of every object before it returns.
func (f fixed) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	for _, object := range f.GetIndexer().List() {
		handler.OnAdd(object, true)
	}
	return f.SharedIndexInformer.AddEventHandler(handler)
}

// fix lets the factory's informer of a type know the objects given, and no others ever.
func fix[T any, P interface {
	*T
	runtime.Object
}](factory informers.SharedInformerFactory, objects []P) {
	factory.InformerFor(P(new(T)), func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
		informer := cache.NewSharedIndexInformer(&cache.ListWatch{}, P(new(T)), 0, indexers)
		for _, object := range objects {
			if err := informer.GetIndexer().Add(object); err != nil {
				panic(err) // only for objects without a name, which the scenario's reader refuses
			}
		}
		return fixed{informer}
	})
}
