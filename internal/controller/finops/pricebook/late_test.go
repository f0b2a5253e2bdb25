package pricebook

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/provider-finops/provider-finops/apis/finops/v1alpha1"
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

// A frozenClient reads price books as they were.
type frozenClient struct {
	client.Client

	books []v1alpha1.PriceBook
}

func (c frozenClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if book, ok := obj.(*v1alpha1.PriceBook); ok {
		for i := range c.books {
			if client.ObjectKeyFromObject(&c.books[i]) == key {
				c.books[i].DeepCopyInto(book)
				return nil
			}
		}
	}

	return c.Client.Get(ctx, key, obj, opts...)
}

func (c frozenClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if books, ok := list.(*v1alpha1.PriceBookList); ok {
		(&v1alpha1.PriceBookList{Items: c.books}).DeepCopyInto(books)
		return nil
	}

	return c.Client.List(ctx, list, opts...)
}

// frozenManager hands out a client that reads the cluster of a while ago.
type frozenManager struct {
	ctrl.Manager

	books []v1alpha1.PriceBook
}

func (m frozenManager) GetClient() client.Client {
	return frozenClient{Client: m.Manager.GetClient(), books: m.books}
}
