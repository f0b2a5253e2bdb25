package pricebook

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A lateClient holds every write back until before returns, and does not make it
// if that is an error.
type lateClient struct {
	client.Client

	before func() error
}

func (c lateClient) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if err := c.before(); err != nil {
		return err
	}
	return c.Client.Create(ctx, obj, opts...)
}

func (c lateClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if err := c.before(); err != nil {
		return err
	}
	return c.Client.Patch(ctx, obj, patch, opts...)
}

func (c lateClient) Status() client.SubResourceWriter {
	return lateStatus{SubResourceWriter: c.Client.Status(), before: c.before}
}

type lateStatus struct {
	client.SubResourceWriter

	before func() error
}

func (w lateStatus) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	if err := w.before(); err != nil {
		return err
	}
	return w.SubResourceWriter.Update(ctx, obj, opts...)
}

// lateManager hands out a client whose writes are late.
type lateManager struct {
	ctrl.Manager

	before func() error
}

func (m lateManager) GetClient() client.Client {
	return lateClient{Client: m.Manager.GetClient(), before: m.before}
}
